"""Trains a tiny model from nothing to write programs, on groups that Muster plays and grades. `muster compare` judges its last version.

npm run example:agentic -- --out /tmp/agentic
"""

import argparse
import json
import os
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

# One thread is the fastest for products as small as this model's.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import muster
from examples.agentic.learn import Learner, Sample, warm_up
from examples.agentic.model_server import MODEL, ModelServer, Versions
from examples.agentic.problems import write_tasks
from examples.agentic.progress import Progress, draw_curve
from examples.agentic.transformer import Transformer
from examples.agentic.words import VOCABULARY
from muster.command import muster_command
from muster_client import Client
from muster_client.rollout_group import RolloutGroup, RolloutOptions

LONGEST = 96
PROBLEMS, HELD_OUT = 81, 21
GROUP_SIZE, BATCH = 8, 4


@dataclass
class Trainer:
    model: Transformer
    versions: Versions
    learner: Learner = field(init=False)

    def __post_init__(self) -> None:
        self.learner = Learner(self.model)

    def learn(self, groups: list[RolloutGroup], version: int) -> None:
        """Learns from groups. A segment is a sample; groups whose rewards are all the same teach nothing."""
        samples = [
            Sample(segment.ids, segment.loss_mask, segment.logprobs, trajectory.advantage)
            for group in groups
            for trajectory in group.trajectories
            if trajectory.advantage
            for segment in trajectory.segments
            if segment.logprobs is not None
        ]
        if samples:
            self.learner.update(samples)
        self.versions.publish(version, self.model)


def train(trainer: Trainer, client: Client, agent: Path, updates: int, concurrency: int) -> Progress:
    progress, batch = Progress(), list[RolloutGroup]()
    options: RolloutOptions = {
        "group_size": GROUP_SIZE,
        "concurrency": concurrency,
        "batch": BATCH,
        "max_staleness": 1,
        "total": updates * BATCH,
        # These groups are for the curve; the model learns nothing from them.
        "keep_filtered": True,
    }
    version, asked = 0, time.time()
    for group in client.rollouts(str(agent), "training", **options):
        batch.append(group)
        if len(batch) < BATCH:
            continue
        begun, version = time.time(), version + 1
        trainer.learn(batch, version)
        client.rollouts.report_version(MODEL, version)
        progress.add(batch, (asked, begun), time.time() - begun)
        print(progress.line(), flush=True)
        batch, asked = [], time.time()
    return progress


def write_suites(out: Path, seed: int) -> dict[str, str]:
    names = write_tasks(out / "tasks", PROBLEMS, seed)
    suites = {}
    for name, tasks in {"training": names[HELD_OUT:], "held-out": names[:HELD_OUT]}.items():
        suite = {"name": name, "tasks": {"from": str(out / "tasks"), "only": tasks}, "stop": {"rule": "certified", "halfWidth": 0.1}}
        suites[name] = str(out / f"{name}.json")
        Path(suites[name]).write_text(json.dumps({**suite, "seed": seed, "budget": {"episodes": 1000}}))
    return suites


def write_agent(out: Path, model: str, endpoint: str, turns: int = 2, **extra: object) -> Path:
    agent = {"agent": "model", "endpoint": endpoint, "model": model, "tokenIds": "vllm", "turns": turns, "tools": "bash", "system": ""}
    agent["extra"] = extra
    file = out / f"{model}.json"
    file.write_text(json.dumps(agent))
    return file


def compare(out: Path, suite: str, url: str, last: int) -> int:
    """Compares the last version with the first. @returns the exit code of `muster compare`: 0 promotes the last version."""
    first, newest = (write_agent(out, f"{MODEL}@{version}", url) for version in (0, last))
    return subprocess.call([*muster_command(), "compare", suite, "--baseline", str(first), "--candidate", str(newest)])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="directory for tasks, weights and the curve")
    parser.add_argument("--updates", type=int, default=60)
    parser.add_argument("--concurrency", type=int, default=16, help="trajectories at a time")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    out: Path = arguments.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    suites = write_suites(out, arguments.seed)
    model = Transformer.initialise(len(VOCABULARY), LONGEST, np.random.default_rng(arguments.seed))
    loss = warm_up(model, arguments.seed)
    print(f"{sum(weight.size for weight in model.parameters)} weights; the warm-up ends with a loss of {loss:.2f}", flush=True)
    versions = Versions()
    versions.publish(0, model)
    with ModelServer(versions) as server:
        endpoints = {"trainer": {"url": server.url}}
        config = out / "server.json"
        config.write_text(json.dumps({"server": {"suites": suites}, "models": {"endpoints": endpoints}}))
        with muster.serve(config=config, sandboxes=arguments.concurrency) as own, own.client() as client:
            agent = write_agent(out, MODEL, "trainer")
            progress = train(Trainer(model, versions), client, agent, arguments.updates, arguments.concurrency)
        (out / "curve.svg").write_text(draw_curve(progress.rewards))
        np.savez(out / "policy.npz", *model.parameters)
        print(progress.stages(), flush=True)
        return compare(out, suites["held-out"], server.url, arguments.updates)


if __name__ == "__main__":
    raise SystemExit(main())

"""The model of examples/agentic: its gradient, and that what Muster records of it is what it has sampled, while others are graded."""

import json
import os
import random
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[2] / "clients/python/src"))
# Products as small as this model's take many times as long on several threads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import muster
from examples.agentic.learn import compose, imitate, recompute
from examples.agentic.model_server import MODEL, ModelServer, Versions
from examples.agentic.problems import instruct, write_tasks
from examples.agentic.progress import Progress
from examples.agentic.train import write_agent
from examples.agentic.transformer import Cache, Transformer
from examples.agentic.words import THINK, THOUGHT, UNKNOWN, VOCABULARY, decode, encode
from muster_client import Client
from muster_client.rollout_group import RolloutGroup, RolloutOptions, RolloutTrajectory

TRAJECTORIES = 100 if os.environ.get("MUSTER_TEST_ALL") == "1" else 5
"""Of several turns, half of them with a template that leaves earlier reasoning out."""
TOLERANCE = 1e-4


def test_the_gradient_equals_finite_differences_with_and_without_a_cache() -> None:
    rng = np.random.default_rng(1)
    model = Transformer.initialise(12, 9, rng)
    for at, weight in enumerate(model.parameters):
        assert weight.dtype == np.float32, at
    model = Transformer(
        model.words.astype(float), model.positions.astype(float), [[weight.astype(float) for weight in layer] for layer in model.layers]
    )
    ids, slope = rng.integers(0, 12, (2, 9)), rng.standard_normal((2, 9, 12))
    log_probabilities, tape = model.forward(ids)
    for weight, gradient in zip(model.parameters, model.backward(tape, slope), strict=True):
        direction = rng.standard_normal(weight.shape)
        before = weight.copy()
        values = []
        for step in (1e-6, -1e-6):
            weight[...] = before + step * direction
            values.append(float((model.forward(ids)[0] * slope).sum()))
        weight[...] = before
        assert (values[0] - values[1]) / 2e-6 == pytest.approx(float((gradient * direction).sum()), rel=1e-5)
    cache = Cache()
    pieces = [model.forward(ids[:, begin:end], cache)[0] for begin, end in ((0, 4), (4, 5), (5, 9))]
    assert np.concatenate(pieces, axis=1) == pytest.approx(log_probabilities, abs=1e-12)


class Drifting(Versions):
    """Has other weights after every other answer, so that a trajectory of three turns spans versions."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self._rng = np.random.default_rng(3)
        self._answers = 0
        self.publish(0, model)

    def find(self, name: str) -> tuple[int, Transformer]:
        with self.turn:
            self._answers += 1
            version, model = super().find(name)
            if self._answers % 2 == 0:
                model = model.copy()
                for weight in model.parameters:
                    weight += (0.02 * self._rng.standard_normal(weight.shape) * weight.std()).astype(np.float32)
                version += 1
                self.publish(version, model)
            return version, model


def thinking_model() -> Transformer:
    """Thinks before most answers, which make no sense."""
    draw = random.Random(2)
    model = Transformer.initialise(len(VOCABULARY), 400, np.random.default_rng(2))

    def answer() -> list[str]:
        return [
            THINK,
            *draw.choices(["first", "second"], k=draw.randint(0, 2)),
            THOUGHT,
            *draw.choices(["x", "+", "1"], k=draw.randint(1, 4)),
        ]

    asked = instruct((("plus", "1"), ("times", "2"))).split()
    imitate(model, lambda: [compose((asked, answer()), (["first", "wrong"], answer())) for _ in range(8)], 150)
    return model


def played(started: float, graded: float, ended: float) -> RolloutTrajectory:
    moments = {name: datetime.fromtimestamp(at, UTC).isoformat() for name, at in (("startedAt", started), ("endedAt", ended))}
    timings = {**moments, "modelSeconds": 0.5, "actionSeconds": 0.25, "gradingSeconds": ended - graded}
    return RolloutTrajectory("t", 1, 0, "completed", [], {"reward": 1, "timings": timings})


def test_the_waiting_time_of_the_trainer_follows_from_the_records() -> None:
    progress = Progress()
    # The first is graded while the second is played; for the last half second only grading is waited for. Then nothing waits.
    one, other = played(100, 101, 103), played(100, 102.5, 103.5)
    progress.add([RolloutGroup("g", 1, "task", 7, 2, 1, 0, [one, other], {})], (101.5, 103), 0.75)
    assert progress.waiting() == pytest.approx((1.5, 0.5))
    assert progress.seconds == pytest.approx({"sampling": 1, "acting": 0.5, "grading": 3, "workspace": 2, "training": 0.75})
    assert "grading 1500 ms" in progress.stages() and "waiting 1.50 s, of these for grading alone 0.50 s" in progress.stages()


def rollouts(client: Client, agent: Path, count: int) -> Iterator[RolloutTrajectory]:
    for group in client.rollouts(
        str(agent), "tasks", group_size=count, concurrency=8, batch=1, max_staleness=1_000_000, total=1, keep_filtered=True
    ):
        yield from group.trajectories


def assert_acting_goes_on_while_groups_are_graded(groups: list[RolloutGroup]) -> None:
    """As many members act at a time as a group has. A group whose grading kept the next group from acting would end before that begins."""
    progress = Progress()
    spans = []
    for group in groups:
        progress.add([group], (0, 0), 0)
        size = len(group.trajectories)
        spans.append((min(begun for begun, _ in progress.played[-size:]), max(ended for _, ended in progress.graded[-size:])))
    for (_, graded), (begun, _) in pairwise(sorted(spans)):
        assert begun < graded


def test_every_recorded_log_probability_equals_what_the_model_gives_for_its_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("MUSTER_")]:
        monkeypatch.delenv(name)
    versions = Drifting(thinking_model())
    names = write_tasks(tmp_path / "tasks", 1, seed=1)
    suite = tmp_path / "suite.json"
    suite.write_text(json.dumps({"name": "tasks", "tasks": {"from": "tasks", "only": names}, "stop": {"rule": "fixed", "episodes": 2}}))
    of_template: dict[bool, list[RolloutTrajectory]] = {}
    with ModelServer(versions) as server:
        config = tmp_path / "server.json"
        endpoints = {"trainer": {"url": server.url}}
        config.write_text(json.dumps({"server": {"suites": {"tasks": str(suite)}}, "models": {"endpoints": endpoints}}))
        with muster.serve(state=tmp_path / "state", config=config, sandboxes=4, timeout=600) as own, own.client() as client:
            for keeps in (True, False):
                agent = write_agent(tmp_path, MODEL, "trainer", turns=3, chat_template_kwargs={"keep_reasoning": keeps})
                of_template[keeps] = list(rollouts(client, agent, TRAJECTORIES // 2 + TRAJECTORIES % 2 * keeps))
            terms: RolloutOptions = {"group_size": 2, "concurrency": 2, "batch": 1, "max_staleness": 1_000_000, "total": 4}
            groups = list(client.rollouts(str(agent), "tasks", keep_filtered=True, **terms))
    assert_acting_goes_on_while_groups_are_graded(groups)
    every = of_template[True] + of_template[False]
    for timings in (trajectory.raw["timings"] for trajectory in every):
        started, ended = (datetime.fromisoformat(timings[name]) for name in ("startedAt", "endedAt"))
        parts = [timings[f"{name}Seconds"] for name in ("model", "action", "grading")]
        # Moments are of whole milliseconds.
        assert min(parts) > 0 and sum(parts) <= (ended - started).total_seconds() + 0.002
    assert len(every) == TRAJECTORIES
    sampled = 0
    for segment in (segment for trajectory in every for segment in trajectory.segments):
        assert segment.logprobs is not None
        of_version = {version: recompute(versions.published[version], segment.ids) for version in {*segment.versions} - {-1}}
        for at in (at for at, mask in enumerate(segment.loss_mask) if mask == 1):
            assert segment.logprobs[at] == pytest.approx(of_version[segment.versions[at]][at - 1], abs=TOLERANCE)
            sampled += 1
    assert sampled == sum(turn["tokens"]["completion"] for trajectory in every for turn in trajectory.raw["turns"])
    assert all(len(trajectory.raw["turns"]) == 3 for trajectory in every if trajectory.raw["stopReason"] == "turns")
    # The model learns from prompts of the form that its warm-up has shown.
    unknown = encode([UNKNOWN])[0]
    assert all(unknown not in segment.ids and decode(segment.ids[:2]) == ["<user>", "write"] for each in every for segment in each.segments)
    # What the test is about did occur.
    assert any(len({*segment.versions} - {-1}) > 1 for trajectory in every for segment in trajectory.segments)
    assert any(len(trajectory.segments) > 1 for trajectory in of_template[False])
    assert all(len(trajectory.segments) == 1 for trajectory in of_template[True])

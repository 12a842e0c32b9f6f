"""Environments of the real EnvPool, in real sandboxes."""

import json
import subprocess
from pathlib import Path
from typing import Any

import envpool
import numpy as np

from muster.exporting.runner_policies import runner_module
from tests.real_server import GAME, HANG_SECONDS
from tests.training.command import muster_eval

WIDTH = 16
SUITE = {
    "name": "cartpole-envpool",
    "environment": "envpool:CartPole-v1",
    "seed": 1,
    "reward": {"bounds": [0, 500]},
    "play": {"mode": "vector", "width": WIDTH},
    "episode": {"seconds": HANG_SECONDS},
    "stop": {"rule": "fixed", "episodes": 2 * WIDTH},
}
CHECKPOINT = GAME / "checkpoints" / "middle.safetensors"


def played(suite: Path, *flags: str, **changes: Any) -> "subprocess.CompletedProcess[str]":
    suite.write_text(json.dumps({**SUITE, **changes}))
    return muster_eval(suite, CHECKPOINT, "--json", *flags)


def bare_returns(seed: int) -> list[float]:
    """Returns the first episode of each row, from a loop over EnvPool alone."""
    pool = envpool.make_gymnasium("CartPole-v1", num_envs=WIDTH, batch_size=WIDTH, num_threads=1, seed=seed % 2**31)
    fit = runner_module("policies.checkpoint").Fit(pool.single_observation_space, pool.single_action_space, True)
    policy = runner_module("policies.read_checkpoint").read_checkpoint(CHECKPOINT).fit_rows(fit, WIDTH)
    observations, _ = pool.reset()
    totals, waiting = np.zeros(WIDTH), np.ones(WIDTH, bool)
    while waiting.any():
        observations, rewards, terminated, truncated, _ = pool.step(policy.act_batch(np.arange(WIDTH), observations))
        totals[waiting] += rewards[waiting]
        waiting &= ~(terminated | truncated)
    return [float(total) for total in totals]


def test_returns_equal_those_of_a_bare_loop_on_any_number_of_sandboxes(tmp_path: Path) -> None:
    done = [played(tmp_path / "suite.yaml", "-n", count, "--out", str(tmp_path / count)) for count in ("1", "2")]
    assert [one.returncode for one in done] == [0, 0], done[0].stderr
    officials = [json.loads(one.stdout)["official"] for one in done]
    assert officials[0] == officials[1]
    episodes = [json.loads(line) for line in (tmp_path / "1" / "episodes.ndjson").read_text().splitlines()]
    first = [episode["outcome"]["return"] for episode in episodes[:WIDTH]]
    assert first == bare_returns(int(episodes[0]["environmentSeed"]))


def test_an_unplayable_environment_is_refused_with_the_remedy(tmp_path: Path) -> None:
    unknown = played(tmp_path / "unknown.yaml", environment="envpool:CartPol-v1")
    assert unknown.returncode == 2
    assert "EnvPool has no environment 'CartPol-v1'; envpool.list_all_envs() names those" in unknown.stderr
    single = played(tmp_path / "single.yaml", play="single")
    assert single.returncode == 2
    assert "envpool:CartPole-v1 steps many rows at a time: play it with mode: vector" in single.stderr

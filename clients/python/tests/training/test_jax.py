"""Environments in JAX, of the real gymnax, in real sandboxes."""

import json
import subprocess
from pathlib import Path
from typing import Any

import gymnax
import jax
import numpy as np

from muster.exporting.runner_policies import runner_module
from tests.real_server import GAME, HANG_SECONDS
from tests.training.command import muster_eval

WIDTH = 16
SUITE = {
    "name": "cartpole-gymnax",
    "environment": {"entry": "gymnax:CartPole-v1", "kwargs": {"params": {"max_steps_in_episode": 200}}},
    "seed": 1,
    "reward": {"bounds": [0, 200]},
    "metrics": ["discount"],
    "play": {"mode": "vector", "width": WIDTH},
    "episode": {"seconds": HANG_SECONDS},
    "stop": {"rule": "fixed", "episodes": 2 * WIDTH},
}
CHECKPOINT = GAME / "checkpoints" / "middle.safetensors"


def played(suite: Path, *flags: str, **changes: Any) -> "subprocess.CompletedProcess[str]":
    suite.write_text(json.dumps({**SUITE, **changes}))
    return muster_eval(suite, CHECKPOINT, "--json", *flags)


def bare_returns(seed: int) -> list[float]:
    """Returns the first episode of each row, from a loop over gymnax alone that plays one row at a time, not compiled together."""
    environment, params = gymnax.make("CartPole-v1")
    params = params.replace(max_steps_in_episode=200)
    space = runner_module("policies.checkpoint")
    maker = runner_module("blocks.gymnax_rows").make_gymnax("CartPole-v1", 1, {})
    fit = space.Fit(maker.single_observation_space, maker.single_action_space, True)
    policy = runner_module("policies.read_checkpoint").read_checkpoint(CHECKPOINT).fit_rows(fit, 1)
    returns = []
    for row in jax.random.split(jax.random.PRNGKey(seed), WIDTH):
        key, first = jax.random.split(row)
        observation, state = environment.reset(first, params)
        total, is_over = 0.0, False
        while not is_over:
            (action,) = policy.act_batch(np.arange(1), np.asarray(observation)[None])
            key, now = jax.random.split(key)
            observation, state, reward, terminated, truncated, _ = environment.step(now, state, action, params)
            total, is_over = total + float(reward), bool(terminated or truncated)
        returns.append(total)
    return returns


def test_returns_equal_those_of_a_bare_loop_on_any_number_of_sandboxes(tmp_path: Path) -> None:
    done = [played(tmp_path / "suite.yaml", "-n", count, "--out", str(tmp_path / count)) for count in ("1", "2")]
    assert [one.returncode for one in done] == [0, 0], done[0].stderr
    officials = [json.loads(one.stdout)["official"] for one in done]
    assert officials[0] == officials[1]
    episodes = [json.loads(line) for line in (tmp_path / "1" / "episodes.ndjson").read_text().splitlines()]
    first = [episode["outcome"]["return"] for episode in episodes[:WIDTH]]
    assert first == bare_returns(int(episodes[0]["environmentSeed"]))
    assert {"discount"} == set(episodes[0]["outcome"]["metrics"])


def test_an_unplayable_environment_is_refused_with_the_remedy(tmp_path: Path) -> None:
    unknown = played(tmp_path / "unknown.yaml", environment="gymnax:CartPol-v1")
    assert unknown.returncode == 2
    assert "gymnax has no environment 'CartPol-v1'; gymnax.registered_envs names those" in unknown.stderr
    misnamed = {"entry": "gymnax:CartPole-v1", "kwargs": {"params": {"steps": 1}}}
    assert "have no 'steps'; they have" in played(tmp_path / "misnamed.yaml", environment=misnamed).stderr
    single = played(tmp_path / "single.yaml", play="single")
    assert "gymnax:CartPole-v1 steps many rows at a time: play it with mode: vector" in single.stderr
    brax = played(tmp_path / "brax.yaml", environment="brax:ant")
    assert "brax:ant needs brax, which cannot be imported" in brax.stderr

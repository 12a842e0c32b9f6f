"""Games of the real PettingZoo, in real sandboxes."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from mpe2 import simple_tag_v3

from muster.exporting.runner_policies import runner_module
from tests.real_server import REPOSITORY

EPISODES = 4
CHASERS = ("adversary_0", "adversary_1", "adversary_2")
SUITE = {
    "name": "tag",
    "environment": {"entry": "mpe2.simple_tag_v3:parallel_env", "kwargs": {"max_cycles": 25}},
    "seed": 1,
    "reward": {"bounds": [-100000, 100000]},
    "metrics": [f"return_{agent}" for agent in (*CHASERS, "agent_0")],
    "stop": {"rule": "fixed", "episodes": EPISODES},
}


def network(path: Path, inputs: int, outputs: int) -> Path:
    """A perceptron with weights of its own, as a training would write it."""
    from safetensors.numpy import save

    drawn = np.random.default_rng(inputs)
    tensors = {"l0.weight": drawn.standard_normal((outputs, inputs)).astype(np.float32), "l0.bias": np.zeros(outputs, np.float32)}
    description = {"format": "muster-mlp/1", "layers": ["l0"], "activation": "tanh", "action": {"kind": "discrete"}, "normalise": False}
    path.write_bytes(save(tensors, {"muster": json.dumps(description)}))
    return path


def both(directory: Path) -> Path:
    directory.mkdir()
    network(directory / "chaser.safetensors", 16, 5)
    network(directory / "runaway.safetensors", 14, 5)
    agents = {"adversary_*": "chaser.safetensors", "agent_0": "runaway.safetensors"}
    (directory / "muster.json").write_text(json.dumps({"policy": {"agents": agents}}))
    return directory


def muster(suite: dict[str, Any], checkpoint: Path, out: Path) -> "subprocess.CompletedProcess[str]":
    out.mkdir()
    (out / "suite.yaml").write_text(json.dumps(suite))
    environment = {**os.environ, "MUSTER_TEMPLATES__LOCAL__PYTHON": sys.executable}
    command = [str(REPOSITORY / "muster"), "eval", str(out / "suite.yaml"), "-c", str(checkpoint), "--out", str(out / "played")]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)


def bare_returns(directory: Path, seed: int) -> dict[str, float]:
    """What each agent gets, in a loop over the game alone, one agent after the other."""
    game = simple_tag_v3.parallel_env(max_cycles=25)
    read, fit = runner_module("policies.read_checkpoint").read_checkpoint, runner_module("policies.checkpoint").Fit
    files = {agent: "chaser" if agent in CHASERS else "runaway" for agent in game.possible_agents}
    policies = {
        agent: read(directory / f"{file}.safetensors").fit(fit(game.observation_space(agent), game.action_space(agent), True))
        for agent, file in files.items()
    }
    observations, _ = game.reset(seed=seed)
    returns = dict.fromkeys(game.possible_agents, 0.0)
    while game.agents:
        observations, rewards, *_ = game.step({agent: policies[agent].act(observations[agent]) for agent in game.agents})
        for agent, reward in rewards.items():
            returns[agent] += float(reward)
    return returns


def test_each_agents_returns_are_those_of_the_bare_loop(tmp_path: Path) -> None:
    directory = both(tmp_path / "both")
    done = muster(SUITE, directory, tmp_path / "out")
    assert done.returncode == 0, done.stderr
    episodes = [json.loads(line) for line in (tmp_path / "out" / "played" / "episodes.ndjson").read_text().splitlines()]
    assert len(episodes) == EPISODES
    for episode in episodes:
        expected = bare_returns(directory, int(episode["environmentSeed"]))
        assert episode["outcome"]["metrics"] == {f"return_{agent}": total for agent, total in expected.items()}
        assert abs(episode["outcome"]["return"] - sum(expected.values())) < 1e-9
    assert len({episode["outcome"]["return"] for episode in episodes}) == EPISODES


def test_one_policy_plays_all_agents_of_a_game_that_pettingzoo_brings(tmp_path: Path) -> None:
    scored = {"entry": "muster_runner.games:Scored", "kwargs": {"agents": ["player_0"]}}
    game = {"entry": "pettingzoo:classic.rps_v2", "kwargs": {"max_cycles": 5}, "wrappers": [scored]}
    suite = {**SUITE, "environment": game, "metrics": ["return_player_0", "return_player_1"], "reward": {"bounds": [-5, 5]}}
    done = muster(suite, network(tmp_path / "one.safetensors", 4, 3), tmp_path / "out")
    assert done.returncode == 0, done.stderr
    episodes = [json.loads(line) for line in (tmp_path / "out" / "played" / "episodes.ndjson").read_text().splitlines()]
    for episode in episodes:
        # The same policy on both sides always chooses the same, and no side wins.
        assert episode["outcome"]["return"] == 0.0
        assert episode["outcome"]["length"] == 5

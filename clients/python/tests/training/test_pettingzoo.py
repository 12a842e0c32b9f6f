"""Games of the real PettingZoo, in real sandboxes."""

import json
import subprocess
import sys
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mpe2 import simple_tag_v3

from muster import embedded
from muster.exporting.runner_policies import runner_module
from muster.tournament import standings, tournament
from muster_client import InvalidArgument
from tests.real_server import HANG_SECONDS
from tests.training.command import muster_eval

EPISODES = 4
CHASERS = ("adversary_0", "adversary_1", "adversary_2")
SUITE = {
    "name": "tag",
    "environment": {"entry": "mpe2.simple_tag_v3:parallel_env", "kwargs": {"max_cycles": 25}},
    "seed": 1,
    "reward": {"bounds": [-100000, 100000]},
    "metrics": [f"return_{agent}" for agent in (*CHASERS, "agent_0")],
    "episode": {"seconds": HANG_SECONDS},
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
    return muster_eval(out / "suite.yaml", checkpoint, "--out", str(out / "played"))


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


def test_the_returns_of_each_agent_equal_those_of_a_bare_loop(tmp_path: Path) -> None:
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


def test_one_policy_plays_all_agents_of_a_pettingzoo_game(tmp_path: Path) -> None:
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


def always(path: Path, choice: int) -> Path:
    """A policy that makes the same choice of three whatever it sees."""
    from safetensors.numpy import save

    tensors = {"l0.weight": np.zeros((3, 4), np.float32), "l0.bias": np.eye(3, dtype=np.float32)[choice]}
    description = {"format": "muster-mlp/1", "layers": ["l0"], "activation": "tanh", "action": {"kind": "discrete"}, "normalise": False}
    path.write_bytes(save(tensors, {"muster": json.dumps(description)}))
    return path


def test_in_a_tournament_each_policy_plays_each_side_against_each_other_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUSTER_TEMPLATES__LOCAL__PYTHON", sys.executable)
    sides = ("player_0", "player_1")
    scored = {"entry": "muster_runner.games:Scored", "kwargs": {"agents": ["player_0"]}}
    game = {"entry": "pettingzoo:classic.rps_v2", "kwargs": {"max_cycles": 5}, "wrappers": [scored]}
    suite = {**SUITE, "environment": game, "metrics": [f"return_{side}" for side in sides], "reward": {"bounds": [-5, 5]}}
    policies = {name: always(tmp_path / f"{name}.safetensors", choice) for choice, name in enumerate(("rock", "paper", "scissors"))}
    with embedded.start() as server, server.client() as client:
        matches = list(tournament(policies, suite, sides=sides, client=client))
    assert [tuple(match.players.values()) for match in matches] == list(permutations(policies, 2))
    beats = {("paper", "rock"), ("rock", "scissors"), ("scissors", "paper")}
    for match in matches:
        total = 5.0 if tuple(match.players.values()) in beats else -5.0
        assert match.returns == {"player_0": total, "player_1": -total}
        assert match.summary.mean == total
    assert standings(matches) == dict.fromkeys(policies, 0.0)
    assert list(standings([match for match in matches if "scissors" not in match.players.values()])) == ["paper", "rock"]


def test_an_unplayable_tournament_is_refused(tmp_path: Path) -> None:
    rock = always(tmp_path / "rock.safetensors", 0)
    with pytest.raises(InvalidArgument, match=r"policies: expected at least one for each of two sides or more, got 1 for 2"):
        tournament({"rock": rock}, SUITE, sides=("player_0", "player_1"))
    with pytest.raises(InvalidArgument, match=r"policies: expected the file of 'paper', and there is none at .*paper\.onnx"):
        tournament({"rock": rock, "paper": tmp_path / "paper.onnx"}, SUITE, sides=("player_0", "player_1"))

"""Games of several agents: one policy for all of them, or one for each."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from checkpoints import constant_layer, write_directory, write_mlp
from runner_process import Frame, RunnerProcess, environment

Policy = tuple[Path, str]
EPISODE = [(0, 0, 1, 2)]


@pytest.fixture(scope="module")
def runner() -> Iterator[RunnerProcess]:
    with RunnerProcess() as process:
        yield process.ready()


def choosing(path: Path, action: int, inputs: int = 1) -> Policy:
    """A policy that always takes one of three actions."""
    return write_mlp(path, constant_layer(inputs, [float(i == action) for i in range(3)]))


def each(directory: Path, **actions: int) -> Policy:
    """A policy for each agent; those of walkers observe two numbers."""
    directory.mkdir()
    for name, action in actions.items():
        choosing(directory / f"{name}.safetensors", action, 2 if name.startswith("walker") else 1)
    agents = {f"{name}*": f"{name}.safetensors" for name in actions}
    return write_directory(directory, {"muster.json": json.dumps({"policy": {"agents": agents}})})


def played(runner: RunnerProcess, policy: Policy, game: Frame, *agents: str) -> Frame:
    answer = runner.load(*policy, game, metrics=[f"return_{agent}" for agent in agents])
    assert answer["type"] == "loaded", answer
    (outcome,) = runner.play(EPISODE)
    assert outcome["type"] == "completed", outcome
    return outcome


def test_one_policy_acts_for_every_agent_of_a_game(runner: RunnerProcess, tmp_path: Path) -> None:
    outcome = played(runner, choosing(tmp_path / "p.safetensors", 2), environment("parallel_toys:Race", runners=3), "runner_0", "runner_2")
    assert outcome["return"] == 2 * (3 + 2 + 1)
    assert outcome["length"] == 3
    assert outcome["metrics"] == {"return_runner_0": 2.0, "return_runner_2": 6.0}


def test_each_agent_has_its_own_policy_by_name_or_pattern(runner: RunnerProcess, tmp_path: Path) -> None:
    policy = each(tmp_path / "both", runner=2, walker=1)
    outcome = played(runner, policy, environment("parallel_toys:Race", walkers=2), "runner_1", "walker_1")
    assert outcome["metrics"] == {"return_runner_1": 4.0, "return_walker_1": 4.0}
    assert outcome["return"] == 2 + 4 + 3 + 4


def test_the_return_is_that_of_the_agents_that_a_suite_names(runner: RunnerProcess, tmp_path: Path) -> None:
    scored = environment("muster_runner.games:Scored", agents=["walker_0", "walker_1"])
    game = environment("parallel_toys:Race", scored, walkers=2)
    assert played(runner, each(tmp_path / "both", runner=2, walker=1), game)["return"] == 3 + 4


def refused(runner: RunnerProcess, policy: Policy, game: Frame, **changes: Any) -> str:
    answer = runner.load(*policy, game, **changes)
    assert answer["type"] == "refused", answer
    return str(answer["message"])


def test_an_unplayable_game_is_refused_with_an_alternative(runner: RunnerProcess, tmp_path: Path) -> None:
    one = choosing(tmp_path / "one.safetensors", 0)
    mixed = refused(runner, one, environment("parallel_toys:Race", walkers=1))
    assert '(agent "walker_0"); agents with other spaces are played with a policy for each agent, a directory with muster.json' in mixed
    runners = each(tmp_path / "runners", runner=1)
    assert 'no policy for the agent "walker_0", only for runner*' in refused(runner, runners, environment("parallel_toys:Race", walkers=1))
    assert "expected a game of several agents" in refused(runner, runners, environment("gymnasium:CartPole-v1"))
    lockstep = {"form": "lockstep", "width": 2, "episodes": 2, "episodeSeconds": 9}
    assert "played with mode: single" in refused(runner, one, environment("parallel_toys:Race"), batching=lockstep)
    vector = {**lockstep, "form": "vector"}
    assert "played with mode: single" in refused(runner, one, environment("pettingzoo:classic.rps_v2"), batching=vector)
    assert "act one after the other, expected a parallel environment" in refused(runner, one, environment("parallel_toys:InTurn"))
    assert "PettingZoo is needed" in refused(runner, one, environment("pettingzoo:classic.nothing_v0"))
    game = environment("parallel_toys:Race", environment("muster_runner.games:Scored", agents=["rabbit"]))
    assert "agents names 'rabbit', expected one or more of runner_0, runner_1" in refused(runner, one, game)

"""Policies whose code travels with the checkpoint."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from checkpoints import directory_digest, random_layers, write_directory, write_mlp
from runner_process import RunnerProcess, environment, episodes

SEEDED = """
import random
from side import LIMIT

class Seeded:
    def __init__(self, offset, deterministic):
        self.offset, self.deterministic = offset, deterministic

    def reset(self, seed):
        self.random = random.Random(seed)

    def act(self, observation):
        return self.offset if self.deterministic else self.random.randrange(LIMIT)

def make(*, observation_space, action_space, checkpoint_dir, deterministic, offset):
    assert observation_space.shape == (1,)
    assert action_space.n == 50
    assert (checkpoint_dir / "weights" / "w.txt").read_text() == "w"
    return Seeded(offset, deterministic)
"""


@pytest.fixture(scope="module")
def runner() -> Iterator[RunnerProcess]:
    """One for all tests here: each loads its own checkpoint in place of the former."""
    with RunnerProcess() as process:
        yield process.ready()


def policy_of(tmp_path: Path, code: str, name: str = "checkpoint", **kwargs: Any) -> tuple[Path, str]:
    description = {"policy": {"entry": "policy_code:make", "kwargs": kwargs}}
    files = {"muster.json": json.dumps(description), "policy_code.py": code, "side.py": "LIMIT = 50", "weights/w.txt": "w"}
    return write_directory(tmp_path / name, dict(files))


def acting(body: str) -> str:
    return f"import numpy as np\nclass P:\n    def act(self, observation):\n        {body}\ndef make(**_):\n    return P()\n"


def test_a_factory_gets_the_spaces_and_its_arguments(runner: RunnerProcess, tmp_path: Path) -> None:
    policy = policy_of(tmp_path, SEEDED, offset=7)
    runner.load(*policy, environment("toys:Chosen", actions=50))
    assert runner.play(episodes(1))[0]["return"] == 7.0


def test_a_stochastic_policy_gets_the_policy_seed(runner: RunnerProcess, tmp_path: Path) -> None:
    policy = policy_of(tmp_path, SEEDED, offset=7)
    runner.load(*policy, environment("toys:Chosen", actions=50, steps=4), actions="stochastic")
    one, two, other = (outcome["return"] for outcome in runner.play([(0, 0, 1, 77), (1, 0, 2, 77), (2, 0, 1, 78)]))
    assert one == two != other


def test_importing_the_code_does_not_change_the_digest(runner: RunnerProcess, tmp_path: Path) -> None:
    path, digest = policy_of(tmp_path, SEEDED, offset=7)
    assert runner.load(path, digest, environment("toys:Chosen", actions=50))["type"] == "loaded"
    assert directory_digest(path) == digest


def test_two_checkpoints_with_modules_of_the_same_name_are_kept_apart(runner: RunnerProcess, tmp_path: Path) -> None:
    task = environment("toys:Chosen", actions=50)
    runner.load(*policy_of(tmp_path, acting("return 3"), "one"), task)
    assert runner.play(episodes(1))[0]["return"] == 3.0
    runner.load(*policy_of(tmp_path, acting("return 4"), "two"), task)
    assert runner.play(episodes(1))[0]["return"] == 4.0


def test_a_directory_can_name_a_file_in_it(runner: RunnerProcess, tmp_path: Path) -> None:
    directory = tmp_path / "checkpoint"
    directory.mkdir()
    write_mlp(directory / "model.safetensors", random_layers(1, 2))
    policy = write_directory(directory, {"muster.json": '{"policy":{"file":"model.safetensors"}}'})
    assert runner.load(*policy, environment("toys:Toy"))["type"] == "loaded"


@pytest.mark.parametrize(
    ("body", "value"),
    [("return 3", 3.0), ("return np.int64(3)", 3.0), ("return np.array([3])", 3.0), ("return np.array(3)", 3.0)],
)
def test_a_number_in_any_usual_form_is_a_discrete_action(runner: RunnerProcess, tmp_path: Path, body: str, value: float) -> None:
    runner.load(*policy_of(tmp_path, acting(body)), environment("toys:Chosen", actions=5))
    assert runner.play(episodes(1))[0]["return"] == value


@pytest.mark.parametrize("body", ["return 5", "return -1", "return 1.5", "return None", "return [1, 2]", "return 'left'"])
def test_a_wrong_discrete_action_is_a_crash_of_the_policy(runner: RunnerProcess, tmp_path: Path, body: str) -> None:
    runner.load(*policy_of(tmp_path, acting(body)), environment("toys:Chosen", actions=5))
    (outcome,) = runner.play(episodes(1))
    assert (outcome["type"], outcome["cause"]) == ("failed", "policy-crash")
    assert "does not fit Discrete(5)" in outcome["detail"]


@pytest.mark.parametrize("body", ["return [1.0]", "return 0.5", "return ['a', 'b']", "return np.zeros((1, 2))", "return [1j, 0]"])
def test_a_wrong_continuous_action_is_a_crash_of_the_policy(runner: RunnerProcess, tmp_path: Path, body: str) -> None:
    runner.load(*policy_of(tmp_path, acting(body)), environment("toys:Moved", low=[0, 0], high=[1, 1]))
    assert runner.play(episodes(1))[0]["cause"] == "policy-crash"


def test_a_list_of_numbers_is_a_continuous_action(runner: RunnerProcess, tmp_path: Path) -> None:
    runner.load(*policy_of(tmp_path, acting("return [0.5, 1.0]")), environment("toys:Moved", low=[0, 0], high=[1, 1]))
    assert runner.play(episodes(1))[0]["return"] == 0.5


def test_an_exception_of_the_policy_is_its_crash_and_is_reported_with_its_location(runner: RunnerProcess, tmp_path: Path) -> None:
    runner.load(*policy_of(tmp_path, acting("raise KeyError('lost')")), environment("toys:Toy"))
    (outcome,) = runner.play(episodes(1))
    assert outcome["cause"] == "policy-crash"
    assert outcome["detail"].startswith("KeyError: 'lost'\n")
    assert "policy_code.py" in outcome["detail"]
    assert "muster_runner" not in outcome["detail"]


def test_a_policy_that_runs_out_of_memory_is_reported_as_out_of_memory(runner: RunnerProcess, tmp_path: Path) -> None:
    runner.load(*policy_of(tmp_path, acting("raise MemoryError")), environment("toys:Toy"))
    assert runner.play(episodes(1))[0]["cause"] == "out-of-memory"

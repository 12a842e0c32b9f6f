"""Policies in safetensors files."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints import DISCRETE, constant_layer, outputs_of, random_layers, write_mlp
from runner_process import RunnerProcess, environment, episodes, without_time

OBSERVATION = [0.3, -1.2, 2.0, 0.01]
MOVED = {"low": [-2.0, 0.0], "high": [4.0, 1.0]}


@pytest.fixture(scope="module")
def runner() -> Iterator[RunnerProcess]:
    """One for all tests here: each loads its own checkpoint in place of the former."""
    with RunnerProcess() as process:
        yield process.ready()


def returns(outcomes: list[dict[str, Any]]) -> list[float]:
    return [outcome["return"] for outcome in outcomes]


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_deterministic_action_is_the_one_with_the_greatest_logit(
    runner: RunnerProcess, tmp_path: Path, dtype: Any, activation: str
) -> None:
    tensors = random_layers(4, 64, 64, 5, dtype=dtype)
    policy = write_mlp(tmp_path / "p.safetensors", tensors, activation=activation)
    observations = np.random.default_rng(1).normal(size=(20, 4)).astype(np.float32).tolist()
    tasks = [environment("toys:Chosen", observation=observation, actions=5) for observation in observations]
    assert runner.load(*policy, *tasks)["type"] == "loaded"
    plain = {"tanh": np.tanh, "relu": lambda x: np.maximum(x, 0)}[activation]
    expected = [float(outputs_of(tensors, np.array(o, np.float32).astype(dtype), plain).argmax()) for o in observations]
    assert returns(runner.play([(i, i, 0, 0) for i in range(20)])) == expected
    assert len(set(expected)) > 1


@pytest.mark.parametrize("given", [[0.5], [0.5, 0.5, 0.5, 0.5, 0.5], 0.5, [[0.5, 0.5], [0.5, 0.5]]])
@pytest.mark.parametrize("batching", [None, {"form": "lockstep", "width": 2, "episodes": 4, "episodeSeconds": 60}])
def test_an_observation_of_another_shape_than_declared_is_a_crash_of_the_environment(
    runner: RunnerProcess, tmp_path: Path, batching: dict[str, Any] | None, given: Any
) -> None:
    """Also one that NumPy would repeat until it fits."""
    policy = write_mlp(tmp_path / "p.safetensors", random_layers(4, 8, 2))
    options = {} if batching is None else {"batching": batching}
    runner.load(*policy, environment("toys:Misdeclared", observation=given), **options)
    for outcome in runner.play(episodes(4)):
        assert outcome["cause"] == "environment-crash"
        assert f"an observation of shape {np.shape(given)}, and its observation_space declares (4,)" in outcome["detail"]


@pytest.mark.parametrize("observation", [[0.5] * 4, [0.5, math.nan, 0.5, 0.5]])
@pytest.mark.parametrize("batching", [None, {"form": "lockstep", "width": 2, "episodes": 4, "episodeSeconds": 60}])
def test_an_observation_with_nan_causes_a_warning(
    runner: RunnerProcess, tmp_path: Path, batching: dict[str, Any] | None, observation: list[float]
) -> None:
    policy = write_mlp(tmp_path / "p.safetensors", random_layers(4, 8, 2))
    runner.load(*policy, environment("toys:Misdeclared", observation=observation), **({} if batching is None else {"batching": batching}))
    is_nan = any(map(math.isnan, observation))
    for outcome in runner.play(episodes(4)):
        assert outcome["type"] == "completed"
        assert ["hold NaN" in warning for warning in outcome.get("warnings", [])] == [True] * is_nan


def test_stochastic_actions_follow_the_softmax(runner: RunnerProcess, tmp_path: Path) -> None:
    policy = write_mlp(tmp_path / "p.safetensors", constant_layer(1, [1000.0, 1000.0 + math.log(3)]))
    runner.load(*policy, environment("toys:Chosen"), actions="stochastic")
    # Three quarters, within four standard errors.
    assert np.mean(returns(runner.play(episodes(2000)))) == pytest.approx(0.75, abs=0.04)


def test_the_policy_seed_alone_decides_the_stochastic_actions(runner: RunnerProcess, tmp_path: Path) -> None:
    policy = write_mlp(tmp_path / "p.safetensors", constant_layer(1, [0.0] * 50))
    runner.load(*policy, environment("toys:Chosen", actions=50, steps=4), actions="stochastic")
    one, two, other = returns(runner.play([(0, 0, 1, 77), (1, 0, 2, 77), (2, 0, 1, 78)]))
    assert one == two != other


@pytest.mark.parametrize(
    ("squash", "outputs", "expected"),
    [
        ("tanh", [0.0, 0.5], [1.0, (math.tanh(0.5) + 1) / 2]),
        ("tanh", [100.0, -100.0], [4.0, 0.0]),
        ("clip", [3.0, 0.25], [3.0, 0.25]),
        ("clip", [9.0, -9.0], [4.0, 0.0]),
        ("none", [9.0, -9.0], [9.0, -9.0]),
    ],
)
def test_continuous_actions_are_clipped_to_the_box(
    runner: RunnerProcess, tmp_path: Path, squash: str, outputs: list[float], expected: list[float]
) -> None:
    policy = write_mlp(tmp_path / "p.safetensors", constant_layer(1, outputs), {"kind": "continuous", "squash": squash})
    runner.load(*policy, environment("toys:Moved", **MOVED), metrics=["a0", "a1"])
    (outcome,) = runner.play(episodes(1))
    assert list(outcome["metrics"].values()) == pytest.approx(expected, abs=1e-6)


def test_stochastic_continuous_actions_have_the_checkpoints_spread(runner: RunnerProcess, tmp_path: Path) -> None:
    tensors = constant_layer(1, [1.0, -2.0]) | {"action.log_std": np.log(np.array([0.5, 3.0], np.float32))}
    policy = write_mlp(tmp_path / "p.safetensors", tensors, {"kind": "continuous", "squash": "none"})
    runner.load(*policy, environment("toys:Moved", **MOVED), actions="stochastic", metrics=["a0", "a1"])
    drawn = np.array([list(outcome["metrics"].values()) for outcome in runner.play(episodes(2000))])
    # Within four standard errors of the mean (σ/√n) and of the deviation (σ/√2n).
    assert drawn.mean(axis=0) == pytest.approx([1.0, -2.0], abs=4 * 3 / math.sqrt(2000))
    assert drawn.std(axis=0) == pytest.approx([0.5, 3.0], rel=4 / math.sqrt(4000))


def test_observations_are_normalised_and_clipped(runner: RunnerProcess, tmp_path: Path) -> None:
    tensors = {"l0.weight": np.eye(2, dtype=np.float32), "l0.bias": np.zeros(2, np.float32)}
    tensors |= {"observation.mean": np.array([3.0, 0.0], np.float32), "observation.variance": np.array([4.0, 0.0], np.float32)}
    policy = write_mlp(tmp_path / "p.safetensors", tensors, {"kind": "continuous", "squash": "none"}, normalise=True)
    runner.load(*policy, environment("toys:Moved", observation=[4.0, -1.0], **MOVED), metrics=["a0", "a1"])
    (outcome,) = runner.play(episodes(1))
    # (4 − 3) / √4; the variance 0 leaves −1 / 10⁻⁴, cut off at −10.
    assert outcome["metrics"] == pytest.approx({"a0": 0.5, "a1": -10.0}, abs=1e-6)


def test_discrete_observations_are_one_hot(runner: RunnerProcess, tmp_path: Path) -> None:
    tensors = {"l0.weight": np.array([[0, 1, 0, 1, 0], [1, 0, 1, 0, 1]], np.float32), "l0.bias": np.zeros(2, np.float32)}
    runner.load(*write_mlp(tmp_path / "p.safetensors", tensors), environment("toys:Counted"))
    assert returns(runner.play(episodes(1))) == [3.0]


@pytest.mark.parametrize("actions", ["deterministic", "stochastic"])
def test_several_discrete_choices_take_their_logits_in_order(runner: RunnerProcess, tmp_path: Path, actions: str) -> None:
    """The logits leave one option of each choice, so that drawing them gives the same."""
    policy = write_mlp(tmp_path / "p.safetensors", constant_layer(1, [0.0, 0.0, 900.0, 0.0, 900.0]))
    runner.load(*policy, environment("toys:Switched", choices=[3, 2], first=[10, 0]), actions=actions)
    assert returns(runner.play(episodes(1))) == [12 * 100.0 + 1]


def test_a_real_environment_plays_to_its_registered_time_limit(runner: RunnerProcess, tmp_path: Path) -> None:
    tensors = random_layers(4, 2)
    # Leaning where the pole falls keeps it up.
    tensors["l0.weight"][:] = [[0, 0, 0, 0], [0.1, 0.5, 1, 1]]
    tensors["l0.bias"][:] = 0
    runner.load(*write_mlp(tmp_path / "p.safetensors", tensors), environment("gymnasium:CartPole-v1"))
    first = runner.play(episodes(3))
    assert [(outcome["return"], outcome["length"]) for outcome in first] == [(500.0, 500)] * 3
    assert without_time(runner.play(episodes(3))) == without_time(first)


def test_kwargs_reach_a_registered_environment(runner: RunnerProcess, tmp_path: Path) -> None:
    policy = write_mlp(tmp_path / "p.safetensors", constant_layer(4, [1.0, 0.0]))
    runner.load(*policy, environment("gymnasium:CartPole-v1", max_episode_steps=3))
    assert returns(runner.play(episodes(1))) == [3.0]


@pytest.mark.parametrize(
    ("tensors", "action", "message"),
    [
        (random_layers(6, 2), DISCRETE, "the policy takes 6 numbers, the environment gives 4"),
        (random_layers(4, 3), DISCRETE, "the policy gives 3 outputs, the action space Discrete(2) needs 2"),
        (random_layers(4, 2), {"kind": "continuous", "squash": "clip"}, "the policy's actions are continuous"),
    ],
)
def test_a_policy_that_fits_none_of_the_tasks_is_refused(
    runner: RunnerProcess, tmp_path: Path, tensors: Any, action: dict[str, str], message: str
) -> None:
    policy = write_mlp(tmp_path / "p.safetensors", tensors, action)
    answer = runner.load(*policy, environment("gymnasium:CartPole-v1"))
    assert (answer["type"], answer["part"]) == ("refused", "policy")
    assert message in answer["message"]


def test_a_policy_that_fits_the_first_task_only_is_refused(runner: RunnerProcess, tmp_path: Path) -> None:
    policy = write_mlp(tmp_path / "p.safetensors", random_layers(4, 2))
    answer = runner.load(*policy, environment("gymnasium:CartPole-v1"), environment("toys:Toy"))
    assert answer["message"] == 'the policy takes 4 numbers, the environment gives 1 (task "task-1")'


def test_stochastic_continuous_actions_without_a_spread_are_refused(runner: RunnerProcess, tmp_path: Path) -> None:
    policy = write_mlp(tmp_path / "p.safetensors", constant_layer(1, [0.0, 0.0]), {"kind": "continuous", "squash": "none"})
    answer = runner.load(*policy, environment("toys:Moved", **MOVED), actions="stochastic")
    assert "action.log_std" in answer["message"]

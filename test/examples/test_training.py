"""The training that made the checkpoints: right gradients, and every bit decided by the seed."""

import hashlib
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import gymnasium
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from examples.game.train import RUNS
from examples.inventory.train import RUN as INVENTORY
from examples.training.action import ActionDistribution, Categorical, Gaussian
from examples.training.mlp import Array, Mlp
from examples.training.rollout import Rollout, advantages
from examples.training.run import Run, perform

STEP = 1e-6


def slope(of: Callable[[], float], array: Array, index: tuple[int, ...]) -> float:
    """The derivative by one entry of the array, from values to either side."""
    kept = array[index]
    array[index] = kept + STEP
    above = of()
    array[index] = kept - STEP
    below = of()
    array[index] = kept
    return (above - below) / (2 * STEP)


def test_the_gradient_of_the_network_is_the_slope_of_its_loss() -> None:
    rng = np.random.default_rng(1)
    network = Mlp([rng.standard_normal((5, 3)), rng.standard_normal((2, 5))], [rng.standard_normal(5), rng.standard_normal(2)])
    inputs, weight = rng.standard_normal((7, 3)), rng.standard_normal((7, 2))
    _, entered = network.forward(inputs)
    gradients = network.backward(entered, weight)
    for parameter, gradient in zip(network.parameters, gradients, strict=True):
        for index in np.ndindex(parameter.shape):
            assert gradient[index] == pytest.approx(
                slope(lambda: float((network.forward(inputs)[0] * weight).sum()), parameter, index), abs=1e-6
            )


def categorical(rng: np.random.Generator) -> tuple[ActionDistribution, Array]:
    return Categorical(gymnasium.spaces.Discrete(4)), rng.integers(4, size=6)


def gaussian(rng: np.random.Generator) -> tuple[ActionDistribution, Array]:
    box = gymnasium.spaces.Box(-1, 1, (4,))
    return Gaussian(box, "tanh", rng.standard_normal(4)), rng.standard_normal((6, 4))


@pytest.mark.parametrize("make", [categorical, gaussian])
def test_the_gradient_of_the_log_probability_is_its_slope(make: Callable[[np.random.Generator], tuple[ActionDistribution, Array]]) -> None:
    rng = np.random.default_rng(2)
    distribution, actions = make(rng)
    outputs, weight = rng.standard_normal((6, 4)), rng.standard_normal(6)
    at_outputs, at_parameters = distribution.gradients(outputs, actions, weight, 0.0)

    def weighted() -> float:
        # One row at a time and summed in double precision: the distribution's own sum is in single precision.
        return float(sum(weight[row] * exact_log_probability(distribution, outputs[row], actions[row]) for row in range(6)))

    for array, gradient in zip([outputs, *distribution.parameters], [at_outputs, *at_parameters], strict=True):
        for index in np.ndindex(array.shape):
            assert gradient[index] == pytest.approx(slope(weighted, array, index), rel=1e-4, abs=1e-5)


def exact_log_probability(distribution: ActionDistribution, outputs: Array, action: Array) -> float:
    """From the definitions, in double precision."""
    if isinstance(distribution, Gaussian):
        deviation = np.exp(distribution.log_std)
        density = np.exp(-0.5 * ((action - outputs) / deviation) ** 2) / (deviation * np.sqrt(2 * np.pi))
        return float(np.log(density).sum())
    return float(np.log(np.exp(outputs[action]) / np.exp(outputs).sum()))


@pytest.mark.parametrize("make", [categorical, gaussian])
def test_the_log_probability_is_that_of_the_definition(make: Callable[[np.random.Generator], tuple[ActionDistribution, Array]]) -> None:
    rng = np.random.default_rng(3)
    distribution, actions = make(rng)
    outputs = rng.standard_normal((6, 4))
    expected = [exact_log_probability(distribution, outputs[row], actions[row]) for row in range(6)]
    assert distribution.log_probability(outputs, actions) == pytest.approx(expected, rel=1e-5)


def test_an_advantage_ignores_steps_after_the_end_of_the_episode() -> None:
    column = np.zeros((3, 1), np.float32)
    rewards = np.array([[1], [2], [4]], np.float32)
    ended = np.array([[0], [1], [0]], np.float32)
    values = np.array([[0], [0], [0], [8]], np.float32)
    result = advantages(Rollout(column, column, column, rewards, ended, values), gamma=0.5, decay=1.0)
    assert result[:, 0].tolist() == [2.0, 2.0, 8.0]


@pytest.mark.parametrize("run", [RUNS["cartpole"], INVENTORY], ids=["discrete", "continuous"])
def test_a_seed_decides_every_bit_of_a_checkpoint(run: Run, tmp_path: Path) -> None:
    short = replace(run, settings=replace(run.settings, environments=4, horizon=32, steps=256), moments={"late": 256})

    def digest(seed: int, place: str) -> str:
        perform(short, seed, tmp_path / place)
        return hashlib.sha256((tmp_path / place / "late.safetensors").read_bytes()).hexdigest()

    first = digest(5, "first")
    assert digest(5, "again") == first
    assert digest(6, "another") != first

"""The examples keep what their suites promise: bounds, seeds, metrics, checkpoints."""

import json
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

sys.path.insert(0, str(Path(__file__).parents[2]))

from examples.inventory.baselines import tuned_joint_reorder
from examples.inventory.environment import shop
from examples.recommendations.baselines import tuned_rotation
from examples.recommendations.environment import catalogue
from examples.training.checkpoint import read_metadata
from examples.training.play import play, play_checkpoint

EXAMPLES = Path(__file__).parents[2] / "examples"
Environment = gymnasium.Env[Any, Any]
DEMANDS: tuple[shop.Demand, ...] = ("steady", "seasonal", "volatile")
MOMENTS = ("early", "middle", "late")
IS_FULL_FORM = os.environ.get("MUSTER_TEST_ALL") == "1"
"""npm test plays fewer episodes than npm run test:all."""


@dataclass(frozen=True)
class Example:
    suite: Path
    checkpoints: Path
    make: Callable[[], Environment]
    margin: float
    """By which the late checkpoint's mean return over 30 episodes exceeds the early one's."""
    action: dict[str, str]

    def declared(self, key: str) -> list[str]:
        """The entries of a list that the suite has on one line."""
        found = re.search(rf"^ *{key}: \[(.*)\]", self.suite.read_text(), re.MULTILINE)
        assert found is not None, f"{self.suite}: no {key}"
        return [entry.strip() for entry in found[1].split(",")]


EXAMPLE = {
    "cartpole": Example(
        EXAMPLES / "game/cartpole.yaml",
        EXAMPLES / "game/checkpoints",
        lambda: gymnasium.make("CartPole-v1"),
        300,
        {"kind": "discrete"},
    ),
    "pendulum": Example(
        EXAMPLES / "game/pendulum.yaml",
        EXAMPLES / "game/pendulum-checkpoints",
        lambda: gymnasium.make("Pendulum-v1"),
        800,
        {"kind": "continuous", "squash": "tanh"},
    ),
    "recommendations": Example(
        EXAMPLES / "recommendations/suite.yaml",
        EXAMPLES / "recommendations/checkpoints",
        lambda: catalogue.make(drift=0.35, boredom=0.9, profile_noise=1.0),
        4,
        {"kind": "discrete"},
    ),
} | {
    f"inventory {demand}": Example(
        EXAMPLES / "inventory/suite.yaml",
        EXAMPLES / "inventory/checkpoints",
        partial(shop.make, demand),
        0.02,
        {"kind": "continuous", "squash": "clip"},
    )
    for demand in DEMANDS
}
OWN = {name: example for name, example in EXAMPLE.items() if "metrics" in example.suite.read_text()}


def every(examples: dict[str, Example]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("example", examples.values(), ids=examples.keys())


def random_policy(environment: Environment) -> Callable[[Any], Any]:
    environment.action_space.seed(0)
    return lambda _: environment.action_space.sample()


def trace(environment: Environment, seed: int) -> bytes:
    """Everything that an episode shows when random actions are played, byte for byte."""
    policy = random_policy(environment)
    observation, info = environment.reset(seed=seed)
    seen = [observation.tobytes(), repr(info).encode()]
    ended = False
    while not ended:
        observation, reward, terminated, truncated, info = environment.step(policy(observation))
        seen += [observation.tobytes(), np.float64(reward).tobytes(), repr((terminated, truncated, info)).encode()]
        ended = terminated or truncated
    return b"|".join(seen)


@every(EXAMPLE)
def test_random_play_stays_within_the_declared_bounds(example: Example) -> None:
    low, high = (float(bound) for bound in example.declared("bounds"))
    environment = example.make()
    returns = play(environment, random_policy(environment), range(60 if IS_FULL_FORM else 15)).returns
    assert low <= returns.min()
    assert returns.max() <= high
    assert returns.std() > 0


@pytest.mark.parametrize("demand", DEMANDS)
@pytest.mark.parametrize(
    "action", [[0, 0, 0, 0], [1, 1, 1, 1], [1, 0.03, 0.03, 0.03]], ids=["never", "always the most", "a lorry for one unit"]
)
def test_the_worst_ordering_rules_also_stay_within_the_bounds(demand: shop.Demand, action: list[float]) -> None:
    returns = play(shop.make(demand), lambda _: np.array(action, np.float32), range(20)).returns
    assert shop.BOUNDS[0] <= returns.min()
    assert returns.max() <= shop.BOUNDS[1]


def test_the_bounds_of_the_shop_lie_within_those_that_its_suite_declares() -> None:
    low, high = (float(bound) for bound in EXAMPLE["inventory steady"].declared("bounds"))
    assert low <= shop.BOUNDS[0] < shop.BOUNDS[1] <= high
    assert shop.BOUNDS[0] - low < 0.01


def test_the_costliest_swing_of_the_pendulum_lies_within_its_declared_bounds() -> None:
    low, _ = (float(bound) for bound in EXAMPLE["pendulum"].declared("bounds"))
    environment = EXAMPLE["pendulum"].make()
    environment.reset(seed=0)
    setattr(environment.unwrapped, "state", np.array([np.pi, 8.0]))  # noqa: B010 (gymnasium.Env does not declare it)
    _, reward, *_ = environment.step(np.array([2.0], np.float32))
    assert float(reward) == pytest.approx(-16.2736044)
    assert low <= 200 * float(reward)


@every(EXAMPLE)
def test_a_seed_gives_the_same_episode_byte_for_byte_whatever_was_played_before(example: Example) -> None:
    environment = example.make()
    first = trace(environment, 7)
    another = trace(environment, 8)
    assert trace(environment, 7) == first
    assert trace(example.make(), 7) == first
    assert another != first


@every(EXAMPLE)
@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_the_checker_of_gymnasium_passes(example: Example) -> None:
    check_env(example.make().unwrapped, skip_render_check=True)


@every(OWN)
def test_the_last_info_has_every_metric_that_the_suite_names(example: Example) -> None:
    environment = example.make()
    played = play(environment, random_policy(environment), range(10))
    assert set(played.metrics) == set(example.declared("metrics"))
    assert all(np.isfinite(value) for value in played.metrics.values())


def test_a_session_of_one_category_has_diversity_0_and_an_even_one_has_1() -> None:
    patient = catalogue.make(patience=1000.0)
    assert play(patient, lambda _: 3, [1]).metrics["diversity"] == 0
    shown = iter(range(1000))
    even = play(patient, lambda _: next(shown) % catalogue.CATEGORIES, [1]).metrics
    assert even["sessionLength"] == catalogue.LONGEST_SESSION
    assert even["diversity"] == pytest.approx(1)


def test_a_shop_that_never_orders_sells_its_first_stock_and_no_more() -> None:
    played = play(shop.make("steady"), lambda _: np.zeros(4, np.float32), range(5))
    assert played.metrics["orderDays"] == 0
    assert played.metrics["fillRate"] < 0.1
    assert played.returns.max() < 0


@pytest.mark.parametrize("action", [[0.5, 0.5, 0.5], [2, 0, 0, 0], [float("nan"), 0, 0, 0]], ids=["too short", "too large", "not a number"])
def test_an_invalid_order_is_refused(action: list[float]) -> None:
    environment = shop.make("steady")
    environment.reset(seed=0)
    with pytest.raises(ValueError, match="expected 4 numbers from 0 to 1"):
        environment.step(np.array(action, np.float32))


def test_an_invalid_category_is_refused() -> None:
    environment = catalogue.make()
    environment.reset(seed=0)
    with pytest.raises(ValueError, match="expected a category from 0 to 7"):
        environment.step(np.int64(8))


@every(EXAMPLE)
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_checkpoint_says_what_it_is_and_where_it_comes_from(example: Example, moment: str) -> None:
    metadata = read_metadata(example.checkpoints / f"{moment}.safetensors")
    assert json.loads(metadata["muster"]) == {
        "format": "muster-mlp/1",
        "layers": ["l0", "l1", "l2"],
        "activation": "tanh",
        "action": example.action,
        "normalise": True,
    }
    assert metadata["run"].endswith("-ppo")
    assert int(metadata["seed"]) == 0
    assert int(metadata["version"]) > 0


@every(EXAMPLE)
def test_the_checkpoint_versions_follow_the_training(example: Example) -> None:
    versions = [int(read_metadata(example.checkpoints / f"{moment}.safetensors")["version"]) for moment in MOMENTS]
    assert versions == sorted(set(versions))


@every(EXAMPLE)
def test_the_late_checkpoint_beats_the_early_one(example: Example) -> None:
    environment = example.make()
    early, late = (
        play_checkpoint(environment, example.checkpoints / f"{moment}.safetensors", range(30)).returns for moment in ("early", "late")
    )
    assert late.mean() - early.mean() >= example.margin


def test_the_late_policy_of_cartpole_is_good_and_not_perfect() -> None:
    example = EXAMPLE["cartpole"]
    returns = play_checkpoint(example.make(), example.checkpoints / "late.safetensors", range(200 if IS_FULL_FORM else 60)).returns
    assert returns.mean() >= 450
    assert 0.85 <= (returns == 500).mean() < 1


def test_the_late_recommender_beats_the_tuned_rotation() -> None:
    example = EXAMPLE["recommendations"]
    environment = example.make()
    late = play_checkpoint(environment, example.checkpoints / "late.safetensors", range(400)).returns
    difference = late - play(environment, tuned_rotation, range(400)).returns
    assert difference.mean() > 2 * difference.std(ddof=1) / len(difference) ** 0.5


def test_the_late_order_policy_beats_the_tuned_rule_under_seasonal_demand() -> None:
    example = EXAMPLE["inventory seasonal"]
    environment = example.make()
    late = play_checkpoint(environment, example.checkpoints / "late.safetensors", range(30)).returns
    assert (late - play(environment, tuned_joint_reorder, range(30)).returns).mean() > 0.01

"""All forms of play give returns of the same distribution; counting whichever rows end first would not."""

from collections.abc import Iterator
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from checkpoints import file_digest
from gymnasium import spaces
from numpy.typing import NDArray
from runner_process import REPOSITORY, Frame, RunnerProcess, environment
from scipy import stats

from muster_runner.policies.checkpoint import Fit
from muster_runner.policies.read_checkpoint import read_checkpoint

CHECKPOINT = REPOSITORY / "examples" / "game" / "checkpoints" / "early.safetensors"
CARTPOLE = environment("gymnasium:CartPole-v1")
EPISODES = 1024
WIDTH = 128
# Seeds are fixed, so a test passes or fails for good. By chance a right one would fail once in a thousand choices of the seeds.
LEVEL = 1e-3

Returns = NDArray[np.float64]


@pytest.fixture(scope="module")
def runner() -> Iterator[RunnerProcess]:
    with RunnerProcess() as process:
        yield process.ready()


def play(runner: RunnerProcess, actions: str, base: int, **batching: Frame) -> Returns:
    runner.load(CHECKPOINT, file_digest(CHECKPOINT), CARTPOLE, actions=actions, **batching)
    outcomes = runner.play([(i, 0, base + i, base + EPISODES + i) for i in range(EPISODES)])
    return np.array([outcome["return"] for outcome in outcomes])


@pytest.fixture(scope="module", params=["deterministic", "stochastic"])
def actions(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def deterministic(runner: RunnerProcess) -> Returns:
    return play(runner, "deterministic", base=1_000_000)


@pytest.fixture(scope="module")
def single(runner: RunnerProcess, actions: str, deterministic: Returns) -> Returns:
    return deterministic if actions == "deterministic" else play(runner, actions, base=1_000_000)


def batching(form: str, width: int, episodes: int) -> Frame:
    return {"form": form, "width": width, "episodes": episodes, "episodeSeconds": 60}


def p_value(one: Returns, other: Returns) -> float:
    """Of Kolmogorov's and Smirnov's test and of Welch's, whichever objects more."""
    return float(min(stats.ks_2samp(one, other).pvalue, stats.ttest_ind(one, other, equal_var=False).pvalue)) * 2


def test_returns_of_a_vector_have_the_distribution_of_single_plays(runner: RunnerProcess, actions: str, single: Returns) -> None:
    found = play(runner, actions, base=2_000_000, batching=batching("vector", WIDTH, WIDTH))
    assert p_value(single, found) > LEVEL


def test_rows_of_a_vector_are_independent_of_each_other(runner: RunnerProcess, actions: str) -> None:
    """Or the standard error of a mean would be wrong: the means of vectors vary as those of independent episodes do."""
    returns = play(runner, actions, base=3_000_000, batching=batching("vector", 16, 16)).reshape(-1, 16)
    ratio = returns.mean(axis=1).var(ddof=1) / (returns.var(ddof=1) / 16)
    degrees = len(returns) - 1
    assert stats.chi2.ppf(LEVEL / 2, degrees) < ratio * degrees < stats.chi2.ppf(1 - LEVEL / 2, degrees)


def test_lockstep_returns_have_the_distribution_of_single_plays(runner: RunnerProcess, actions: str, single: Returns) -> None:
    found = play(runner, actions, base=4_000_000, batching=batching("lockstep", 64, 256))
    assert p_value(single, found) > LEVEL


def test_counting_the_rows_that_end_first_is_detected_as_biased(deterministic: Returns) -> None:
    """The mistake that loops over vector environments make: it favours short episodes, and these tests see it."""
    biased = np.concatenate([first_finished(WIDTH, seed) for seed in range(EPISODES // WIDTH)])
    assert biased.mean() < deterministic.mean()
    assert p_value(deterministic, biased) < LEVEL


def first_finished(width: int, seed: int) -> Returns:
    """As many episodes as there are rows, whichever end first, rows beginning anew meanwhile."""
    vector = gymnasium.make_vec("CartPole-v1", num_envs=width, vectorization_mode="vector_entry_point")
    fit = Fit(vector.single_observation_space, spaces.Discrete(2), True)
    policy = read_checkpoint(Path(CHECKPOINT)).fit_rows(fit, width)
    observations, _ = vector.reset(seed=seed)
    totals, returns = np.zeros(width), list[float]()
    while len(returns) < width:
        observations, rewards, terminated, truncated, _ = vector.step(policy.act_batch(np.arange(width), observations))
        totals += rewards
        over = terminated | truncated
        returns.extend(totals[over].tolist())
        totals[over] = 0
    vector.close()
    return np.array(returns[:width])

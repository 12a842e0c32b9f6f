"""Plays one episode: the loop in which nearly all of the runner's time is spent."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal

from muster_runner.environment_answers import assert_info, read_number, read_reward
from muster_runner.environments import Environment
from muster_runner.failure import EnvironmentFault, ReportedFailure, describe, describe_environment
from muster_runner.frames import Episode
from muster_runner.nan_observations import has_nan
from muster_runner.policies.policy import Policy
from muster_runner.random_state import seed_global_generators


@dataclass(frozen=True)
class Completed:
    total: float
    length: int
    metrics: dict[str, float]
    # Seconds that were spent in the policy, estimated from some of the steps.
    forward: float | None = None
    # Whether an observation contained NaN. Only some observations are checked.
    saw_nan: bool = False


@dataclass(frozen=True)
class Failed:
    cause: Literal["environment-crash", "policy-crash", "invalid-return", "out-of-memory", "timeout"]
    detail: str


Outcome = Completed | Failed

# The policy's share of the time is measured at one step in this many, because each measurement takes time.
MEASURED_STEPS = 16


class PolicyCrash(Exception):
    """The policy's exception caused the failure. Any other exception counts as the environment's."""


def play(environment: Environment, policy: Policy, episode: Episode, metrics: Iterable[str]) -> Outcome:
    """Plays until the environment terminates or truncates. An exception becomes an outcome, too.

    The return is the sum of the rewards in their order, in double precision.
    """
    try:
        total, length, info, forward, saw_nan = _run(environment, policy, episode)
        measured = measure(info, metrics)
    except PolicyCrash as crash:
        return fail_episode(crash.__cause__ or crash, "policy-crash")
    except BaseException as error:
        return fail_episode(error, "environment-crash")
    return complete_episode(total, length, measured, forward, saw_nan=saw_nan)


def complete_episode(
    total: float, length: int, metrics: dict[str, float], forward: float | None = None, *, saw_nan: bool = False
) -> Outcome:
    if not math.isfinite(total):
        steps = "1 step" if length == 1 else f"{length} steps"
        return Failed("invalid-return", f"the return is {name_number(total)} after {steps}, expected a finite number")
    return Completed(total, length, metrics, forward, saw_nan)


def name_number(value: float) -> str:
    return "NaN, not a number," if math.isnan(value) else f"{'-' if value < 0 else ''}infinite"


def _run(environment: Environment, policy: Policy, episode: Episode) -> tuple[float, int, Any, float, bool]:
    # A try block costs nothing when nothing is raised (since Python 3.11), so each step can attribute an exception.
    act = policy.act
    step = environment.step
    seed_global_generators(episode.environment_seed)
    observation, info = environment.reset(seed=episode.environment_seed)
    assert_info(info)
    try:
        policy.reset(episode.policy_seed)
    except BaseException as error:
        raise PolicyCrash from error
    total = 0.0
    length = 0
    measured = 0.0
    saw_nan = False
    while True:
        try:
            if length % MEASURED_STEPS:
                action = act(observation)
            else:
                began = perf_counter()
                action = act(observation)
                measured += perf_counter() - began
                saw_nan = saw_nan or has_nan(observation)
        except BaseException as error:
            raise PolicyCrash from error
        observation, reward, terminated, truncated, info = step(action)
        total += reward if reward.__class__ is float else read_reward(reward)
        length += 1
        if terminated or truncated:
            samples = (length - 1) // MEASURED_STEPS + 1
            return total, length, info, measured / samples * length, saw_nan or has_nan(observation)


def fail_episode(error: BaseException, cause: Literal["environment-crash", "policy-crash"]) -> Failed:
    if isinstance(error, MemoryError) or (isinstance(error, ReportedFailure) and error.is_out_of_memory):
        return Failed("out-of-memory", describe(error))
    if cause == "policy-crash" and not isinstance(error, EnvironmentFault):
        return Failed(cause, describe(error))
    return Failed("environment-crash", describe_environment(error))


def measure(info: Any, names: Iterable[str]) -> dict[str, float]:
    """Returns the named scalars of the last step's info. Names that are missing, or whose value is no finite number, are left out."""
    measured: dict[str, float] = {}
    for name in names:
        try:
            value = read_number(info[name])
        except (KeyError, TypeError, ValueError, OverflowError):
            continue
        if math.isfinite(value):
            measured[name] = value
    return measured

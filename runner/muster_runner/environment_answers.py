"""Checks what an environment's reset() and step() return."""

from collections.abc import Mapping
from typing import Any

from muster_runner.failure import EnvironmentFault, describe_reward


def assert_info(info: Any) -> None:
    """@raises TypeError unless `info` is a dictionary: an observation of two parts, without an info, would otherwise be split."""
    if not isinstance(info, Mapping):
        raise TypeError(f"reset() gave {type(info).__name__} as its second part; expected (observation, info), info a dictionary")


def read_reward(reward: Any) -> float:
    """@raises EnvironmentFault for what is no number."""
    try:
        return read_number(reward)
    except (TypeError, ValueError, OverflowError) as error:
        raise EnvironmentFault(describe_reward(reward)) from error


def read_number(value: Any) -> float:
    """float() would take a text for the number in it."""
    if isinstance(value, str | bytes | bytearray):
        raise TypeError
    return float(value)

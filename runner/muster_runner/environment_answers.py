"""Checks the values that an environment's reset() and step() return."""

from collections.abc import Mapping
from typing import Any

from muster_runner.failure import EnvironmentFault, describe_reward


def assert_info(info: Any) -> None:
    """Checks that `info` is a dictionary. Otherwise an observation with two parts, returned without an info, would be split. @raises
    TypeError
    """
    if not isinstance(info, Mapping):
        raise TypeError(f"reset() gave {type(info).__name__} as its second part; expected (observation, info), info a dictionary")


def read_reward(reward: Any) -> float:
    """Returns a reward as a float. @raises EnvironmentFault when it is not a number."""
    try:
        return read_number(reward)
    except (TypeError, ValueError, OverflowError) as error:
        raise EnvironmentFault(describe_reward(reward)) from error


def read_number(value: Any) -> float:
    """Returns a number as a float. Texts are refused, because float() would parse them."""
    if isinstance(value, str | bytes | bytearray):
        raise TypeError
    return float(value)

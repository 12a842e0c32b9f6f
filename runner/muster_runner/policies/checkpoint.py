"""A checkpoint that has been read and checked, ready to be fitted to environments."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gymnasium import spaces

from muster_runner.policies.policy import Policy


@dataclass(frozen=True)
class Fit:
    """What a policy is made for."""

    observation_space: spaces.Space[Any]
    action_space: spaces.Space[Any]
    deterministic: bool


# @raises PolicyRefusal when the checkpoint does not fit the spaces. Weights are read once, before, and shared.
Checkpoint = Callable[[Fit], Policy]

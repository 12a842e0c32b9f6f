"""A checkpoint that has been read and checked, ready to be fitted to environments."""

from dataclasses import dataclass
from typing import Any, Protocol

from gymnasium import spaces

from muster_runner.policies.policy import Policy
from muster_runner.policies.rows_policy import RowsPolicy


@dataclass(frozen=True)
class Fit:
    """What a policy is made for."""

    observation_space: spaces.Space[Any]
    action_space: spaces.Space[Any]
    deterministic: bool


class Checkpoint(Protocol):
    """Weights are read once, before, and shared by all that is fitted."""

    def fit(self, fit: Fit, /) -> Policy:
        """@raises PolicyRefusal when the checkpoint does not fit the spaces."""

    def fit_rows(self, fit: Fit, rows: int, /) -> RowsPolicy:
        """The same for at most so many rows that are played side by side. @raises PolicyRefusal"""

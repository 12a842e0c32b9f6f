"""A checkpoint that has been read and checked, ready to be fitted to environments."""

from dataclasses import dataclass
from typing import Any, Protocol

from gymnasium import spaces

from muster_runner.policies.policy import Policy
from muster_runner.policies.rows_policy import RowsPolicy


@dataclass(frozen=True)
class Fit:
    """The spaces that a policy is made for, and whether it acts deterministically."""

    observation_space: spaces.Space[Any]
    action_space: spaces.Space[Any]
    deterministic: bool


class Checkpoint(Protocol):
    """A loaded checkpoint. Its weights are read once, and shared by all policies that are fitted."""

    def fit(self, fit: Fit, /) -> Policy:
        """Makes a policy for single observations. @raises PolicyRefusal when the checkpoint does not fit the spaces."""

    def fit_rows(self, fit: Fit, rows: int, /) -> RowsPolicy:
        """Makes a policy for at most `rows` rows that are played side by side. @raises PolicyRefusal"""

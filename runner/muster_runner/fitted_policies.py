"""Makes policies for the spaces of several tasks, one for each distinct pair of spaces."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np
from gymnasium import spaces

from muster_runner.policies.checkpoint import Fit
from muster_runner.refusal import PolicyRefusal

P = TypeVar("P")


class FittedPolicies(Generic[P]):
    def __init__(self, make: Callable[[Fit], P]) -> None:
        self._make = make
        self._fitted: list[tuple[Fit, P]] = []

    def policy_for(self, fit: Fit, task: str) -> P:
        """Returns the policy for a task. Tasks with the same spaces share one. @raises PolicyRefusal naming the task."""
        for known, policy in self._fitted:
            if is_same_space(known.observation_space, fit.observation_space) and is_same_space(known.action_space, fit.action_space):
                return policy
        try:
            policy = self._make(fit)
        except PolicyRefusal as refusal:
            raise PolicyRefusal(f'{refusal} (task "{task}")') from refusal
        self._fitted.append((fit, policy))
        return policy

    @property
    def policies(self) -> list[P]:
        return [policy for _, policy in self._fitted]


def is_same_space(one: spaces.Space[Any], other: spaces.Space[Any]) -> bool:
    # Gymnasium's comparison accepts bounds that are merely close, but actions are scaled to the bounds.
    if isinstance(one, spaces.Box) and isinstance(other, spaces.Box):
        return one == other and np.array_equal(one.low, other.low) and np.array_equal(one.high, other.high)
    return type(one) is type(other) and bool(one == other)

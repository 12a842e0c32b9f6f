"""Chooses the rows of a vector environment for which the policy is run: rows whose episode has ended need no action of their own."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from muster_runner.policies.rows_policy import Rows, RowsPolicy


class AskedRows:
    """Runs the policy for all rows at first; when half of them have ended, only for the others. Ended rows repeat their last action.

    The block alone decides which rows are active, as it decides all of its outcomes.
    """

    def __init__(self, policy: RowsPolicy, count: int) -> None:
        self._policy = policy
        self._all: Rows = np.arange(count)
        self._rows = self._all
        self._actions: Any = None

    def act(self, observations: Any) -> Any:
        """Returns actions for the whole vector environment, in a new array. @raises whatever the policy raises."""
        rows = self._rows
        # Only plain arrays are split, and no dictionaries or tuples of arrays.
        if len(rows) < len(self._all) and isinstance(observations, np.ndarray) and isinstance(self._actions, np.ndarray):
            actions = self._actions.copy()
            actions[rows] = self._policy.act_batch(rows, observations[rows])
            self._actions = actions
        else:
            self._actions = self._policy.act_batch(self._all, observations)
        return self._actions

    def heed(self, waiting: NDArray[np.bool_], left: int) -> None:
        """Notes the rows that are still awaited. @param waiting: these rows; `left` is their number."""
        if 0 < left <= len(self._rows) // 2:
            self._rows = waiting.nonzero()[0]

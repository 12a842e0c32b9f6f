"""For which rows of a vector environment the policy is run: not for those that only continue because the others have not ended."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from muster_runner.policies.rows_policy import Rows, RowsPolicy


class AskedRows:
    """All at first; when half of them have ended, only the others. An inactive row repeats its last action.

    Which rows are active follows from the block, as all of its outcomes do.
    """

    def __init__(self, policy: RowsPolicy, count: int) -> None:
        self._policy = policy
        self._all: Rows = np.arange(count)
        self._rows = self._all
        self._actions: Any = None

    def act(self, observations: Any) -> Any:
        """Actions for the whole vector environment, in a fresh array. @raises whatever the policy raises."""
        rows = self._rows
        # Dictionaries and the like are not split for it.
        if len(rows) < len(self._all) and isinstance(observations, np.ndarray) and isinstance(self._actions, np.ndarray):
            actions = self._actions.copy()
            actions[rows] = self._policy.act_batch(rows, observations[rows])
            self._actions = actions
        else:
            self._actions = self._policy.act_batch(self._all, observations)
        return self._actions

    def heed(self, waiting: NDArray[np.bool_], left: int) -> None:
        """@param waiting: the rows that are waited for, `left` of them."""
        if 0 < left <= len(self._rows) // 2:
            self._rows = waiting.nonzero()[0]

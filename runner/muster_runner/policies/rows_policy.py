"""What the runner needs of a policy that plays many rows side by side."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

# Positions of rows, in rising order; int64 [n].
Rows = NDArray[np.int64]


class RowFaults(Exception):
    """What the policy raised for some of the rows; the others have their actions."""

    def __init__(self, actions: Sequence[Any], errors: Mapping[int, BaseException]) -> None:
        """@param actions: as `act_rows` gives them; at the places of `errors` there is anything. Places count from 0 in what was asked."""
        super().__init__(f"the policy failed for {len(errors)} rows")
        self.actions = actions
        self.errors = errors


class RowsPolicy(Protocol):
    """Chooses actions for several rows at once, for one observation space and one action space. Each row plays an episode of its own."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings for the checkpoint's author about how it is played."""

    def begin_block(self, seed: int, /) -> None:
        """Before a block: what is random and shared by all of its rows follows from `seed`."""

    def reset_row(self, row: int, seed: int, /) -> None:
        """Before each episode of a row: all that is random in it follows from `seed`, 0 … 2³² − 1."""

    def act_rows(self, rows: Rows, observations: Sequence[Any], /) -> Sequence[Any]:
        """An action for each of the rows' observations, as the environment gives and takes them.

        @raises RowFaults for single rows. Whatever else is raised is every row's.
        """

    def act_batch(self, rows: Rows, observations: Any, /) -> Any:
        """The same where observations come, and actions go, as a vector environment has them, one array for all rows.

        @raises whatever is wrong, for all rows.
        """

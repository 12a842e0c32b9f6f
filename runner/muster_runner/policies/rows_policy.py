"""The interface of a policy that plays many rows side by side."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

# Numbers of rows, in rising order; int64 [n].
Rows = NDArray[np.int64]


class RowFaults(Exception):
    """The policy's exceptions for some of the rows. The other rows have their actions."""

    def __init__(self, actions: Sequence[Any], errors: Mapping[int, BaseException]) -> None:
        """@param actions: as `act_rows` returns them, with any value at the positions of `errors`. Positions count from 0 in the requested
        rows.
        """
        super().__init__(f"the policy failed for {len(errors)} rows")
        self.actions = actions
        self.errors = errors


class RowsPolicy(Protocol):
    """Chooses actions for several rows at once, for one observation space and one action space. Each row plays an episode of its own."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings for the checkpoint's author about how it is played."""

    def begin_block(self, seed: int, /) -> None:
        """Begins a block. `seed` decides everything random that its rows share."""

    def reset_row(self, row: int, seed: int, /) -> None:
        """Begins an episode of a row. `seed`, 0 … 2³² − 1, decides everything random in it."""

    def act_rows(self, rows: Rows, observations: Sequence[Any], /) -> Sequence[Any]:
        """Returns an action for each row's observation, as the environment gives and takes them.

        @raises RowFaults for single rows. Any other exception counts for every row.
        """

    def act_batch(self, rows: Rows, observations: Any, /) -> Any:
        """Returns actions for the arrays of a vector environment, one array for all rows.

        @raises any exception, which counts for all rows.
        """

"""The generators that a stochastic policy draws from, one a row."""

from collections.abc import Callable

import numpy as np

from muster_runner.policies.policy import Array
from muster_runner.policies.rows_policy import Rows

# Draws that are taken ahead for each row: so few calls of generators that the rows' steps do not feel them.
AHEAD = 64
# Numbers of all rows together: wide vectors of wide actions take fewer ahead.
MAX_NUMBERS = 1 << 20

Draw = Callable[[np.random.Generator, tuple[int, int]], Array]


def uniform(generator: np.random.Generator, shape: tuple[int, int]) -> Array:
    return generator.random(shape)


def normal(generator: np.random.Generator, shape: tuple[int, int]) -> Array:
    return generator.standard_normal(shape)


class RowDice:
    """A row's numbers are those that `Dice` would give it, in the same order, whatever the other rows do."""

    def __init__(self, rows: int, count: int, draw: Draw) -> None:
        """@param count: how many numbers an action takes."""
        self._ahead = max(1, min(AHEAD, MAX_NUMBERS // (rows * count)))
        self._numbers = np.empty((rows, self._ahead, count))
        self._used = np.full(rows, self._ahead)
        self._generators = [np.random.Generator(np.random.PCG64(0)) for _ in range(rows)]
        self._draw = draw

    def reset(self, row: int, seed: int) -> None:
        self._generators[row] = np.random.Generator(np.random.PCG64(seed))
        self._used[row] = self._ahead

    def roll(self, rows: Rows) -> Array:
        """The next numbers of each of the rows: float64 [n, count]."""
        used = self._used[rows]
        empty = used == self._ahead
        if empty.any():
            for row in rows[empty].tolist():
                self._numbers[row] = self._draw(self._generators[row], self._numbers.shape[1:])
            used[empty] = 0
        self._used[rows] = used + 1
        rolled: Array = self._numbers[rows, used]
        return rolled

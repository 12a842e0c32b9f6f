"""The random generators of a stochastic policy, one for each row."""

from collections.abc import Callable

import numpy as np

from muster_runner.policies.policy import Array
from muster_runner.policies.rows_policy import Rows

# The number of draws that are taken ahead for each row. With so many, calls of generators hardly slow the rows' steps.
AHEAD = 64
# The bound on drawn numbers of all rows together. Many rows with wide actions draw fewer ahead.
MAX_NUMBERS = 1 << 20

Draw = Callable[[np.random.Generator, tuple[int, int]], Array]


def uniform(generator: np.random.Generator, shape: tuple[int, int]) -> Array:
    return generator.random(shape)


def normal(generator: np.random.Generator, shape: tuple[int, int]) -> Array:
    return generator.standard_normal(shape)


class RowDice:
    """Draws for each row the numbers that its own `Dice` would draw, in the same order, independent of other rows."""

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
        """Returns the next numbers of each of these rows: float64 [n, count]."""
        used = self._used[rows]
        empty = used == self._ahead
        if empty.any():
            for row in rows[empty].tolist():
                self._numbers[row] = self._draw(self._generators[row], self._numbers.shape[1:])
            used[empty] = 0
        self._used[rows] = used + 1
        rolled: Array = self._numbers[rows, used]
        return rolled

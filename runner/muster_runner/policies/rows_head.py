"""Turns a network's outputs for many rows into actions. Each row gets the action that action_head.py gives it."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from gymnasium import spaces

from muster_runner.policies.action_head import ActionKind, Continuous, count_outputs, make_bounding
from muster_runner.policies.policy import Array
from muster_runner.policies.row_dice import RowDice, normal, uniform
from muster_runner.policies.rows_policy import Rows
from muster_runner.refusal import PolicyRefusal


class RowsHead(Protocol):
    def reset(self, row: int, seed: int, /) -> None:
        """Begins an episode of a row."""

    def __call__(self, rows: Rows, outputs: Array, log_std: Array | None, /) -> Array:
        """Turns outputs [n, out] and log standard deviations [n or 1, out] into actions [n, …], a new array at each step."""


def make_rows_head(kind: ActionKind, space: spaces.Space[Any], deterministic: bool, rows: int) -> RowsHead:
    """Makes the function. @raises PolicyRefusal when the space has no actions of this kind."""
    outputs = count_outputs(kind, space)
    if isinstance(space, spaces.Discrete):
        return Best(int(space.start)) if deterministic else Drawn(int(space.start), RowDice(rows, 1, uniform))
    if isinstance(space, spaces.MultiDiscrete):
        return Several(space, None if deterministic else RowDice(rows, space.nvec.size, uniform))
    if isinstance(kind, Continuous) and isinstance(space, spaces.Box):
        bounded = make_bounding(kind, space, (-1, *space.shape))
        return Mean(bounded) if deterministic else Normal(bounded, RowDice(rows, outputs, normal))
    raise PolicyRefusal(f"the environment takes {space}, expected Discrete, MultiDiscrete or Box")


class Undiced:
    def reset(self, row: int, seed: int, /) -> None:
        """Does nothing, because nothing is drawn."""


class Best(Undiced):
    def __init__(self, start: int) -> None:
        self._start = start

    def __call__(self, _rows: Rows, outputs: Array, _log_std: Array | None, /) -> Array:
        best: Array = outputs.argmax(axis=1)
        if self._start:
            best += self._start
        return best


class Drawn:
    def __init__(self, start: int, dice: RowDice) -> None:
        self._start = start
        self._dice = dice
        self.reset = dice.reset

    def __call__(self, rows: Rows, outputs: Array, _log_std: Array | None, /) -> Array:
        return draw_choices(outputs, self._dice.roll(rows)) + self._start


class Several:
    """Several choices at once. The logits of one choice follow those of the other."""

    def __init__(self, space: spaces.MultiDiscrete, dice: RowDice | None) -> None:
        self._space = space
        self._ends = space.nvec.reshape(-1).cumsum()[:-1]
        self._dice = dice

    def reset(self, row: int, seed: int, /) -> None:
        if self._dice is not None:
            self._dice.reset(row, seed)

    def __call__(self, rows: Rows, outputs: Array, _log_std: Array | None, /) -> Array:
        choices = np.split(outputs, self._ends, axis=1)
        if self._dice is None:
            chosen = [logits.argmax(axis=1) for logits in choices]
        else:
            rolled = self._dice.roll(rows)
            chosen = [draw_choices(logits, rolled[:, i : i + 1]) for i, logits in enumerate(choices)]
        shaped = np.stack(chosen, axis=1).reshape(-1, *self._space.shape)
        return (shaped + self._space.start).astype(self._space.dtype)


def draw_choices(logits: Array, rolled: Array) -> Array:
    """Draws choices [n] by the softmax of logits [n, out] and numbers from 0 to 1 [n, 1]."""
    weights = np.exp(logits - logits.max(axis=1, keepdims=True), dtype=np.float64)
    cumulative = weights.cumsum(axis=1)
    # The choice is the number of sums at or below the drawn number. Rounding can make the product as large as the total.
    left: Array = (~(cumulative > rolled * cumulative[:, -1:])).sum(axis=1)
    np.minimum(left, logits.shape[1] - 1, out=left)
    return left


class Mean(Undiced):
    def __init__(self, bounded: Callable[[Array], Array]) -> None:
        self._bounded = bounded

    def __call__(self, _rows: Rows, outputs: Array, _log_std: Array | None, /) -> Array:
        return self._bounded(outputs)


class Normal:
    def __init__(self, bounded: Callable[[Array], Array], dice: RowDice) -> None:
        self._bounded = bounded
        self._dice = dice
        self.reset = dice.reset

    def __call__(self, rows: Rows, outputs: Array, log_std: Array | None, /) -> Array:
        if log_std is None:
            raise ValueError("the policy gives no log_std, so no stochastic action can be drawn")
        noise = self._dice.roll(rows).astype(outputs.dtype)
        return self._bounded(outputs + np.exp(log_std) * noise)

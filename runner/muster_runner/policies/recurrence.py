"""Keeps the state of a recurrent network from step to step, for each row."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from muster_runner.policies.policy import Array
from muster_runner.policies.rows_policy import Rows
from muster_runner.refusal import PolicyRefusal

# Inputs [n, …] and the state of each of n rows → the model's outputs and the next state.
Step = Callable[[Array, tuple[Array, ...]], tuple[list[Array], tuple[Array, ...]]]
# Row numbers and inputs [n, …] → the model's outputs in their order.
RunRows = Callable[[Rows, Array], list[Array]]
ONE_ROW: Rows = np.zeros(1, np.int64)


def remembers_nothing(_row: int) -> None:
    """Does nothing: a model without a state has nothing to forget."""


@dataclass(frozen=True)
class Recurrence:
    """A model's step, and the initial state of one row: arrays without a dimension of rows."""

    step: Step
    initial: tuple[Array, ...]

    def fresh(self, rows: int) -> tuple[Array, ...]:
        """Returns the initial state of many rows: [rows, …] for each part."""
        return tuple(np.repeat(one[np.newaxis], rows, axis=0) for one in self.initial)

    def begin(self, x: Array) -> list[Array]:
        """Runs a first step. Returns the outputs, and then the next state.

        @raises PolicyRefusal when the next state does not have the shape of the initial one.
        """
        before = self.fresh(len(x))
        outputs, after = self.step(x, before)
        for old, new in zip(before, after, strict=True):
            if old.shape != new.shape:
                raise PolicyRefusal(f"the model takes a state of shape {old.shape[1:]} and gives one of {new.shape[1:]}, expected the same")
        return [*outputs, *after]


class Memory:
    """Runs steps of many rows, and keeps the state of each."""

    def __init__(self, recurrence: Recurrence, rows: int) -> None:
        self._recurrence = recurrence
        self._states = recurrence.fresh(rows)

    def forget(self, row: int) -> None:
        for state, initial in zip(self._states, self._recurrence.initial, strict=True):
            state[row] = initial

    def run(self, rows: Rows, x: Array) -> list[Array]:
        outputs, states = self._recurrence.step(x, tuple(state[rows] for state in self._states))
        # A failed step changes no state, because it is repeated row by row.
        for state, following in zip(self._states, states, strict=True):
            state[rows] = following
        return outputs


class NoMemory:
    """Runs a model without a state."""

    def __init__(self, run: Callable[[Array], list[Array]]) -> None:
        self._run = run
        self.forget = remembers_nothing

    def run(self, _rows: Rows, x: Array) -> list[Array]:
        return self._run(x)

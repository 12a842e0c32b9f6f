"""Runs a model that another library computes on many rows: together if it can, else one by one."""

from collections.abc import Callable

import numpy as np

from muster_runner.policies.network_rows import RowsForward
from muster_runner.policies.policy import Array
from muster_runner.policies.recurrence import RunRows
from muster_runner.policies.rows_policy import Rows

# [n, …] → the model's outputs in their order.
Run = Callable[[Array], list[Array]]

# Batches of different sizes differ by rounding far below this. A model that mixes its rows differs far above it.
TOLERANCE = 1e-2


def run_together(run: RunRows, shape: tuple[int, ...]) -> RowsForward:
    """Runs all rows together. @param shape: the shape of one row's input."""

    def forward(rows: Rows, x: Array) -> tuple[Array, Array | None]:
        count = len(x)
        outputs = run(rows, x.reshape(count, *shape))
        output = outputs[0].reshape(count, -1)
        # The model may give one spread for each row, or one for all of them.
        return output, outputs[1].reshape(-1, output.shape[1]) if len(outputs) > 1 else None

    return forward


def run_one_by_one(run: RunRows, shape: tuple[int, ...]) -> RowsForward:
    def forward(rows: Rows, x: Array) -> tuple[Array, Array | None]:
        each = [run(rows[place : place + 1], one.reshape(1, *shape)) for place, one in enumerate(x)]
        columns = [np.concatenate([output.reshape(1, -1) for output in column]) for column in zip(*each, strict=True)]
        return columns[0], columns[1] if len(columns) > 1 else None

    return forward


def explain_one_by_one(run: Run, takes_one: bool, shape: tuple[int, ...], dtype: type) -> str | None:
    """Explains why rows cannot go through the model together; returns None when they can.

    A model may state that it takes any batch, and still mix its rows or fail on two of them.
    """
    if takes_one:
        return "the model takes one observation at a time, a batch of 1 (export it with a dynamic batch dimension)"
    rows: Array = (np.random.Generator(np.random.PCG64(0)).random((2, *shape)) * (255 if dtype is np.uint8 else 1)).astype(dtype)
    alone = [run(row[np.newaxis]) for row in rows]
    try:
        both = run(rows)
    except Exception as error:
        return f"the model fails on a batch of two observations ({type(error).__name__})"
    for position, output in enumerate(both):
        expected = np.concatenate([one[position].reshape(1, -1) for one in alone])
        is_shared = position > 0 and output.size == expected.shape[1]
        if not is_shared and output.size != expected.size:
            return f"the model gives an output of shape {output.shape} for two observations"
        if not np.allclose(output.reshape(-1, expected.shape[1]), expected, TOLERANCE, TOLERANCE, equal_nan=True):
            return "the model gives other outputs for an observation that is computed together with another one"
    return None

"""Finds the inputs and outputs of an ONNX model that carry its state from step to step."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from muster_runner.json_fields import FieldError, Object, as_object, as_text
from muster_runner.policies.policy import Array
from muster_runner.policies.recurrence import Recurrence
from muster_runner.refusal import PolicyRefusal

DTYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64}


@dataclass(frozen=True)
class StatePart:
    """An input, and the output that is this input's value at the next step."""

    input: str
    output: str
    # The initial value of one row.
    initial: Array
    # The dimension of the rows; None in a model that takes one row.
    axis: int | None

    def to_model(self, rows: Array) -> Array:
        """Converts [n, …] to the model's layout."""
        return rows[0] if self.axis is None else np.moveaxis(rows, 0, self.axis)

    def to_rows(self, value: Array) -> Array:
        return value[np.newaxis] if self.axis is None else np.moveaxis(value, self.axis, 0)


def parse_state(value: Object | None) -> Mapping[str, str]:
    """Parses `{"h": "h_next"}`: state inputs, and the outputs that are their next values. @raises FieldError"""
    state = None if value is None else value.get("state")
    if state is None:
        return {}
    named = as_object(state, "muster.state")
    return {name: as_text(output, f"muster.state.{name}") for name, output in named.items()}


def find_state_parts(session: Any, declared: Mapping[str, str]) -> tuple[StatePart, ...]:
    """Finds the parts of the state: those that the metadata declares or, by name, an input `…_in` with an output `…_out`, its next value.

    @raises FieldError when the model has no such name, PolicyRefusal when parts have shapes or types that cannot be kept.
    """
    inputs = {one.name: one for one in session.get_inputs()}
    outputs = {one.name for one in session.get_outputs()}
    for name, output in declared.items():
        if name not in inputs:
            raise FieldError(f"muster.state has {name}, expected an input of the model: {', '.join(inputs)}")
        if output not in outputs:
            raise FieldError(f"muster.state.{name} is {output}, expected an output of the model: {', '.join(outputs)}")
    usual = {name: name.removesuffix("_in") + "_out" for name in inputs if name.endswith("_in")}
    pairs = declared or {name: output for name, output in usual.items() if output in outputs}
    observations = [one for name, one in inputs.items() if name not in pairs]
    batch = observations[0].shape[0] if observations and observations[0].shape else None
    return tuple(_parse_part(inputs[name], output, batch) for name, output in pairs.items())


def _parse_part(given: Any, output: str, batch: Any) -> StatePart:
    if given.type not in DTYPES:
        raise PolicyRefusal(f"the state {given.name} is {given.type}, expected tensor(float) or tensor(double)")
    free = [axis for axis, size in enumerate(given.shape) if not isinstance(size, int)]
    # A dimension named like the observation's first one counts the rows, also when others are free.
    named = [axis for axis in free if isinstance(batch, str) and given.shape[axis] == batch]
    if len(named or free) > 1 or (named and len(free) > 1):
        raise PolicyRefusal(f"the state {given.name} has the shape {given.shape}, expected one free dimension: the batch")
    axis = free[0] if free else None
    sizes = [size for place, size in enumerate(given.shape) if place != axis]
    return StatePart(given.name, output, np.zeros(sizes, DTYPES[given.type]), axis)


def make_recurrence(run: Callable[..., list[Array]], observation: str, outputs: list[str], parts: tuple[StatePart, ...]) -> Recurrence:
    """@param run: `session.run`, which takes names of outputs and a dictionary of inputs."""
    asked = [*outputs, *(part.output for part in parts)]

    def step(x: Array, states: tuple[Array, ...]) -> tuple[list[Array], tuple[Array, ...]]:
        given = {part.input: part.to_model(state) for part, state in zip(parts, states, strict=True)}
        results = run(asked, {observation: x, **given})
        after = results[len(outputs) :]
        return results[: len(outputs)], tuple(part.to_rows(value) for part, value in zip(parts, after, strict=True))

    return Recurrence(step, tuple(part.initial for part in parts))

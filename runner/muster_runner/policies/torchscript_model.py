"""Loads a TorchScript model."""

from pathlib import Path
from typing import Any

import numpy as np

from muster_runner.failure import describe
from muster_runner.json_fields import parse_object
from muster_runner.policies.checkpoint import Checkpoint
from muster_runner.policies.exported_network import ExportedNetwork, read_description
from muster_runner.policies.exported_rows import Run
from muster_runner.policies.policy import Array
from muster_runner.policies.recurrence import Recurrence
from muster_runner.policies.torch_library import import_torch
from muster_runner.refusal import PolicyRefusal

METADATA_FILE = "muster.json"


def read_torchscript(path: Path) -> Checkpoint:
    """Reads a model. @raises PolicyRefusal"""
    torch = import_torch(path, "a TorchScript model")
    # The library fills in the content of the extra files that are named here and exist.
    extra: dict[str, Any] = {METADATA_FILE: ""}
    try:
        model = torch.jit.load(str(path), map_location="cpu", _extra_files=extra)
    except (RuntimeError, ValueError) as error:
        raise PolicyRefusal(f"{path.name} is not an intact TorchScript model: {error}") from error
    model.eval()
    text = extra[METADATA_FILE]
    # A model without parameters gets torch's default type.
    double = any(parameter.dtype == torch.float64 for parameter in model.parameters())
    return ExportedNetwork(
        model=_read_recurrence(torch, model, path) if hasattr(model, "initial_state") else _make_run(torch, model),
        dtype=np.float64 if double else np.float32,
        description=read_description(lambda: parse_object(text, METADATA_FILE) if text else None, path.name),
        input_shape=None,
        takes_one=False,
    )


def _make_run(torch: Any, model: Any) -> Run:
    def run(observation: Array) -> list[Array]:
        with torch.no_grad():
            return _to_arrays(model(torch.from_numpy(observation)))

    return run


def _read_recurrence(torch: Any, model: Any, path: Path) -> Recurrence:
    """Reads a model with a state: `initial_state(rows)` returns the first one, `forward(observation, *state)` the outputs and then the next
    state.
    """
    initial, axes = _create_initial(model, path)
    count = len(initial)

    def step(x: Array, states: tuple[Array, ...]) -> tuple[list[Array], tuple[Array, ...]]:
        given = (torch.from_numpy(np.ascontiguousarray(np.moveaxis(state, 0, axis))) for state, axis in zip(states, axes, strict=True))
        with torch.no_grad():
            results = _to_arrays(model(torch.from_numpy(x), *given))
        if len(results) <= count:
            raise ValueError(f"forward gives {len(results)} tensors, expected outputs and then {count} of state")
        after = results[len(results) - count :]
        return results[:-count], tuple(np.moveaxis(state, axis, 0) for state, axis in zip(after, axes, strict=True))

    return Recurrence(step, initial)


def _create_initial(model: Any, path: Path) -> tuple[tuple[Array, ...], tuple[int, ...]]:
    """Returns the initial state of one row, and the dimension of the rows in each part. @raises PolicyRefusal"""
    try:
        one, two = _to_arrays(model.initial_state(1)), _to_arrays(model.initial_state(2))
    except Exception as error:
        # Scripted code may raise any exception.
        raise PolicyRefusal(f"{path.name}: initial_state(rows) fails: {describe(error)}") from error
    axes: list[int] = []
    for first, both in zip(one, two, strict=True):
        grown = [axis for axis, (a, b) in enumerate(zip(first.shape, both.shape, strict=False)) if (a, b) == (1, 2)]
        if first.ndim != both.ndim or len(grown) != 1:
            shapes = f"{first.shape} for one row and {both.shape} for two"
            raise PolicyRefusal(f"{path.name}: initial_state gives the shape {shapes}, expected a dimension of rows")
        axes.append(grown[0])
    return tuple(first.take(0, axis) for first, axis in zip(one, axes, strict=True)), tuple(axes)


def _to_arrays(result: Any) -> list[Array]:
    return [part.detach().numpy() for part in (result if isinstance(result, tuple) else (result,))]

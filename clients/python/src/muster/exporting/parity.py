"""Checks that an exported policy acts as the trainer's own policy, before any episode is played."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from muster.exporting.errors import ParityError
from muster.exporting.network import Array
from muster.exporting.onnx_graph import INPUT, PREPROCESSED
from muster.exporting.runner_policies import load_runner_policy

OBSERVATIONS = 1000
"""Number of observations on which the actions are compared."""
TRACED = 16
"""The number of observations for which the outputs of each layer are kept, to name the first layer that differs."""
TOLERANCE = 1e-4
"""The tolerance for an action, and for logits when another action is the greatest: a hundred times the rounding of float32."""
LAYER_TOLERANCE = 1e-3
"""The tolerance for a layer's outputs, relative to their largest."""


@dataclass(frozen=True, eq=False)
class Reference:
    """The trainer's policy at one moment."""

    observation_space: Any
    """The environment's observation space."""
    action_space: Any
    observations: Sequence[Any]
    """The environment's observations."""
    actions: Array
    """[n, …]: the trainer's best action for each."""
    logits: Array | None
    """[n, out] for policies that choose the action with the greatest logit."""
    layers: dict[str, Array] = field(default_factory=dict)
    """Outputs of layers for the first observations, by the layers' names."""


def assert_parity(path: Path, reference: Reference) -> None:
    """Checks the exported policy. @raises ParityError with the number of actions that differ, and the first layer that differs if it is
    known.

    Raises ExportError when the exported policy does not fit the environment's spaces.
    """
    policy = load_runner_policy(path, reference.observation_space, reference.action_space)
    played = [np.asarray(policy.act(observation)).copy() for observation in reference.observations]
    differing = _differing(played, reference)
    if not differing:
        return
    place, first = differing[0], first_differing_layer(path, reference)
    where = f"the first layer that differs is {first}" if first else "each layer that was compared agrees; what the outputs mean differs"
    raise ParityError(
        f"{path.name} acts differently from the trainer's own policy on {len(differing)} of {len(played)} observations: "
        f"on observation {place} it does {played[place].tolist()}, the trainer's policy {reference.actions[place].tolist()}; {where}"
    )


def _differing(played: Sequence[Array], reference: Reference) -> list[int]:
    """Returns the positions of observations with another action. It compares all at once, because the training waits while this thread
    computes in Python.
    """
    expected, logits = reference.actions, reference.logits
    if any(action.shape != expected.shape[1:] for action in played):
        return list(range(len(played)))
    together = np.stack(played)
    equal = np.isclose(together, expected, rtol=TOLERANCE, atol=TOLERANCE) if logits is None else together == expected
    apart: list[int] = np.flatnonzero(~equal.reshape(len(played), -1).all(1)).tolist()
    if logits is None:
        return apart
    space = reference.action_space
    return [place for place in apart if not _is_tie(logits[place], played[place].reshape(-1), expected[place].reshape(-1), space)]


def _is_tie(logits: Array, played: Array, expected: Array, space: Any) -> bool:
    """Returns whether the trainer's own logits of the two actions differ by rounding only."""
    sizes = [int(space.n)] if hasattr(space, "n") else [int(size) for size in space.nvec.reshape(-1)]
    begin, scale = 0, 1 + float(np.abs(logits).max())
    for size, one, other in zip(sizes, played, expected, strict=True):
        if abs(float(logits[begin + int(one)] - logits[begin + int(other)])) > TOLERANCE * scale:
            return False
        begin += size
    return True


def first_differing_layer(path: Path, reference: Reference) -> str | None:
    """Returns the first layer of the exported file, in the order of computation, whose outputs are not the trainer's."""
    values = _iterate_onnx_values if path.suffix == ".onnx" else _iterate_mlp_values
    for name, value in values(path, reference):
        known = reference.layers.get(name)
        if known is None:
            continue
        scale = 1e-6 + float(np.abs(known).max())
        if value.size != known.size or not np.abs(value.reshape(known.shape) - known).max() <= LAYER_TOLERANCE * scale:
            return name
    return None


def _build_rows(reference: Reference) -> Array:
    from gymnasium import spaces

    space, some = reference.observation_space, reference.observations[:TRACED]
    return np.stack([np.asarray(spaces.flatten(space, observation)) for observation in some])


def _iterate_onnx_values(path: Path, reference: Reference) -> Iterator[tuple[str, Array]]:
    import onnx
    import onnxruntime

    model = onnx.load(path)
    names = [output for node in model.graph.node for output in node.output]
    for name in set(names) - {output.name for output in model.graph.output}:
        model.graph.output.append(onnx.ValueInfoProto(name=name))
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (given,) = session.get_inputs()
    dtype = {"tensor(uint8)": np.uint8, "tensor(double)": np.float64}.get(given.type, np.float32)
    rows = _build_rows(reference).astype(dtype)
    shape = [len(rows), *given.shape[1:]]
    yield from zip(names, session.run(names, {INPUT: rows.reshape(shape)}), strict=True)


def _iterate_mlp_values(path: Path, reference: Reference) -> Iterator[tuple[str, Array]]:
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as file:
        architecture = json.loads(file.metadata()["muster"])
        value: Array = _build_rows(reference).astype(np.float32)
        yield PREPROCESSED, value
        for place, layer in enumerate(architecture["layers"]):
            value = value @ file.get_tensor(f"{layer}.weight").T + file.get_tensor(f"{layer}.bias")
            yield layer, value
            if place < len(architecture["layers"]) - 1:
                value = np.tanh(value) if architecture["activation"] == "tanh" else np.maximum(value, 0)
                yield _after(layer), value


def _after(layer: str) -> str:
    """Returns the name of the preceding module in an `nn.Sequential`."""
    before, _, place = layer.rpartition(".")
    following = str(int(place) + 1) if place.isdecimal() else place
    return f"{before}.{following}" if before else following

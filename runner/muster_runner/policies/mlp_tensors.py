"""Builds an MLP from its architecture and the tensors of a file of any format."""

from typing import Protocol

import numpy as np

from muster_runner.json_fields import FieldError
from muster_runner.policies.mlp import Architecture, Mlp
from muster_runner.policies.observation_input import Normalisation
from muster_runner.policies.policy import Array

# The number of elements that are checked at a time.
FINITE_CHUNK = 1 << 22


class NamedTensors(Protocol):
    """The tensors of a file. Each is checked when it is taken."""

    def has(self, name: str) -> bool: ...

    def take(self, name: str, dimensions: int) -> Array:
        """Returns a tensor. @raises FieldError"""


def is_finite(tensor: Array) -> bool:
    """Returns whether all elements are finite. It checks one part at a time: the mask of the whole would take a quarter of the tensor's
    memory.
    """
    flat = tensor.reshape(-1)
    return all(np.isfinite(flat[at : at + FINITE_CHUNK]).all() for at in range(0, flat.size, FINITE_CHUNK))


def build_mlp(architecture: Architecture, tensors: NamedTensors) -> Mlp:
    """Builds the network. @raises FieldError naming the tensor that is missing or does not fit."""
    weights = tuple(tensors.take(f"{layer}.weight", 2) for layer in architecture.layers)
    biases = tuple(tensors.take(f"{layer}.bias", 1) for layer in architecture.layers)
    for i, (layer, weight, bias) in enumerate(zip(architecture.layers, weights, biases, strict=True)):
        if len(bias) != len(weight):
            raise FieldError(f'"{layer}.bias" has {len(bias)} numbers, "{layer}.weight" has {len(weight)} rows: expected as many')
        if i > 0 and weight.shape[1] != len(biases[i - 1]):
            before = architecture.layers[i - 1]
            raise FieldError(f'"{layer}.weight" takes {weight.shape[1]} numbers, "{before}" gives {len(biases[i - 1])}')
    log_std = tensors.take("action.log_std", 1) if tensors.has("action.log_std") else None
    if log_std is not None and len(log_std) != len(biases[-1]):
        raise FieldError(f'"action.log_std" has {len(log_std)} numbers, the policy has {len(biases[-1])} outputs')
    return Mlp(weights, biases, architecture.activation, architecture.action, log_std, _read_normalisation(architecture, tensors))


def _read_normalisation(architecture: Architecture, tensors: NamedTensors) -> Normalisation | None:
    if not architecture.normalise:
        return None
    mean, variance = tensors.take("observation.mean", 1), tensors.take("observation.variance", 1)
    if mean.shape != variance.shape:
        raise FieldError(f'"observation.mean" has {len(mean)} numbers, "observation.variance" has {len(variance)}: expected as many')
    return Normalisation(mean, variance)

"""An MLP in a safetensors file, its architecture in the file's metadata."""

from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open

from muster_runner.json_fields import FieldError, parse_object
from muster_runner.policies.checkpoint import Checkpoint
from muster_runner.policies.mlp import FORMAT, Architecture, Mlp, parse_architecture
from muster_runner.policies.observation_input import Normalisation
from muster_runner.policies.policy import Array
from muster_runner.refusal import PolicyRefusal

DTYPES = {"F32": np.float32, "F64": np.float64}


def read_safetensors(path: Path) -> Checkpoint:
    """@raises PolicyRefusal naming the tensor or field that is wrong."""
    try:
        with safe_open(path, framework="numpy") as file:
            tensors = Tensors(file)
            architecture = _architecture(file.metadata())
            return _mlp(architecture, tensors).fit
    except SafetensorError as error:
        # Lies about offsets, sizes and shapes as well as truncated files are found by the library when it opens the file.
        raise PolicyRefusal(f"{path.name} is no intact safetensors file: {error}") from error
    except FieldError as error:
        raise PolicyRefusal(f"{path.name}: {error}") from error


def _architecture(metadata: dict[str, str] | None) -> Architecture:
    if not metadata or "muster" not in metadata:
        raise FieldError(f'the metadata has no "muster", expected the architecture as JSON in format {FORMAT} (docs/checkpoints.md)')
    return parse_architecture(parse_object(metadata["muster"], 'the metadata "muster"'))


class Tensors:
    """The tensors of an open file, each checked when it is taken. All are of one dtype."""

    def __init__(self, file: safe_open) -> None:
        self._file = file
        self._names = set(file.keys())
        self._dtype: str | None = None

    def has(self, name: str) -> bool:
        return name in self._names

    def take(self, name: str, dimensions: int) -> Array:
        """@raises FieldError"""
        if name not in self._names:
            raise FieldError(f'there is no tensor "{name}"; there are {", ".join(sorted(self._names)) or "none"}')
        part = self._file.get_slice(name)
        shape, dtype = part.get_shape(), part.get_dtype()
        if len(shape) != dimensions or 0 in shape:
            raise FieldError(f'tensor "{name}" has the shape {shape}, expected {dimensions} dimensions, none of them 0')
        if dtype not in DTYPES:
            raise FieldError(f'tensor "{name}" is {dtype}, expected F32 or F64')
        if self._dtype not in (None, dtype):
            raise FieldError(f'tensor "{name}" is {dtype} and others are {self._dtype}, expected one type for all')
        self._dtype = dtype
        tensor: Array = np.ascontiguousarray(self._file.get_tensor(name))
        if not np.isfinite(tensor).all():
            raise FieldError(f'tensor "{name}" holds numbers that are not finite: the training has diverged')
        return tensor


def _mlp(architecture: Architecture, tensors: Tensors) -> Mlp:
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
    return Mlp(weights, biases, architecture.activation, architecture.action, log_std, _normalisation(architecture, tensors))


def _normalisation(architecture: Architecture, tensors: Tensors) -> Normalisation | None:
    if not architecture.normalise:
        return None
    mean, variance = tensors.take("observation.mean", 1), tensors.take("observation.variance", 1)
    if mean.shape != variance.shape:
        raise FieldError(f'"observation.mean" has {len(mean)} numbers, "observation.variance" has {len(variance)}: expected as many')
    return Normalisation(mean, variance)

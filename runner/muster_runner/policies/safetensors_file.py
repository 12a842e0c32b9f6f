"""An MLP in a safetensors file, its architecture in the file's metadata."""

import json
import math
import mmap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open

from muster_runner.json_fields import FieldError, parse_object
from muster_runner.policies.checkpoint import Checkpoint
from muster_runner.policies.mlp import FORMAT, Architecture, parse_architecture
from muster_runner.policies.mlp_tensors import build_mlp, is_finite
from muster_runner.policies.policy import Array
from muster_runner.refusal import PolicyRefusal

DTYPES = {"F32": np.float32, "F64": np.float64}


def read_safetensors(path: Path) -> Checkpoint:
    """@raises PolicyRefusal naming the tensor or field that is wrong."""
    try:
        with safe_open(path, framework="numpy") as file:
            tensors = Tensors(file, map_data(path))
            architecture = _read_architecture(file.metadata())
            return build_mlp(architecture, tensors)
    except SafetensorError as error:
        # Lies about offsets, sizes and shapes as well as truncated files are found by the library when it opens the file.
        raise PolicyRefusal(f"{path.name} is not an intact safetensors file: {error}") from error
    except FieldError as error:
        raise PolicyRefusal(f"{path.name}: {error}") from error


def _read_architecture(metadata: dict[str, str] | None) -> Architecture:
    if not metadata or "muster" not in metadata:
        expected = f"the architecture as JSON in format {FORMAT}, as muster.save_policy of the package muster-eval writes it"
        raise FieldError(f'the metadata has no "muster", expected {expected}')
    return parse_architecture(parse_object(metadata["muster"], 'the metadata "muster"'))


class Tensors:
    """The tensors of an open file, each checked when it is taken. All are of one dtype."""

    def __init__(self, file: safe_open, data: "MappedData") -> None:
        self._file = file
        self._data = data
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
        tensor = self._data.tensor(name, DTYPES[dtype], shape)
        if not is_finite(tensor):
            raise FieldError(f'tensor "{name}" holds numbers that are not finite: the training has diverged')
        return tensor


@dataclass(frozen=True)
class MappedData:
    """The numbers in the file itself: every process that maps it shares one copy of them."""

    mapped: mmap.mmap
    """Where each tensor begins in the file, in bytes."""
    offsets: dict[str, int]

    def tensor(self, name: str, dtype: Any, shape: list[int]) -> Array:
        """Read-only. A copy only where the file has it at an address that the processor would be slow to read."""
        view = np.frombuffer(self.mapped, dtype, math.prod(shape), self.offsets[name]).reshape(shape)
        return np.require(view, requirements=("C", "A"))


def map_data(path: Path) -> MappedData:
    """@param path: a file that the library has opened, so that what its header says of places and sizes is true."""
    with path.open("rb") as file:
        header_bytes = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(header_bytes))
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    begin = 8 + header_bytes
    return MappedData(mapped, {name: begin + entry["data_offsets"][0] for name, entry in header.items() if name != "__metadata__"})

"""Loads an MLP from a safetensors file, whose metadata holds the architecture."""

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
    """Reads a network. @raises PolicyRefusal naming the tensor or field that is wrong."""
    try:
        with safe_open(path, framework="numpy") as file:
            tensors = Tensors(file, map_data(path))
            architecture = _read_architecture(file.metadata())
            return build_mlp(architecture, tensors)
    except SafetensorError as error:
        # When the library opens a file, it detects truncation and wrong offsets, sizes and shapes.
        raise PolicyRefusal(f"{path.name} is not an intact safetensors file: {error}") from error
    except FieldError as error:
        raise PolicyRefusal(f"{path.name}: {error}") from error


def _read_architecture(metadata: dict[str, str] | None) -> Architecture:
    if not metadata or "muster" not in metadata:
        expected = f"the architecture as JSON in format {FORMAT}, as muster.save_policy of the package muster-eval writes it"
        raise FieldError(f'the metadata has no "muster", expected {expected}')
    return parse_architecture(parse_object(metadata["muster"], 'the metadata "muster"'))


class Tensors:
    """The tensors of an open file, all of one dtype. Each is checked when it is taken."""

    def __init__(self, file: safe_open, data: "MappedData") -> None:
        self._file = file
        self._data = data
        self._names = set(file.keys())
        self._dtype: str | None = None

    def has(self, name: str) -> bool:
        return name in self._names

    def take(self, name: str, dimensions: int) -> Array:
        """Returns a tensor. @raises FieldError"""
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
    """The numbers in the mapped file. All processes that map it share one copy."""

    mapped: mmap.mmap
    # Position in the file, in bytes, at which each tensor begins.
    offsets: dict[str, int]

    def tensor(self, name: str, dtype: Any, shape: list[int]) -> Array:
        """Returns a read-only tensor. It is copied only if its address in the file is badly aligned, which is slow to read."""
        view = np.frombuffer(self.mapped, dtype, math.prod(shape), self.offsets[name]).reshape(shape)
        return np.require(view, requirements=("C", "A"))


def map_data(path: Path) -> MappedData:
    """Maps the file. @param path: a file whose header the library has checked by opening it."""
    with path.open("rb") as file:
        header_bytes = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(header_bytes))
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    begin = 8 + header_bytes
    return MappedData(mapped, {name: begin + entry["data_offsets"][0] for name, entry in header.items() if name != "__metadata__"})

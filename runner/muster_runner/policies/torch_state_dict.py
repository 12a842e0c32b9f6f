"""Loads an MLP from a file of `torch.save` with named tensors and the architecture. Only these are unpickled."""

import zipfile
from pathlib import Path
from typing import Any

from muster_runner.json_fields import FieldError, Object, as_object, parse_object
from muster_runner.policies.checkpoint import Checkpoint
from muster_runner.policies.mlp import FORMAT, parse_architecture
from muster_runner.policies.mlp_tensors import build_mlp, is_finite
from muster_runner.policies.policy import Array
from muster_runner.policies.torch_library import import_torch
from muster_runner.refusal import PolicyRefusal

ARCHITECTURE = "muster"
# Training frameworks put the tensors under this key if the file holds more.
TENSORS = "state_dict"
# The first bytes of the pickle, whose first operations name the class of the object.
MOST_OPENING_BYTES = 4096
REMEDY = "save tensors and plain values alone, or ship the code that reads it in a checkpoint directory (docs/checkpoints.md)"


def is_state_dict(path: Path) -> bool:
    """Returns whether `torch.save` wrote the file, in its present format, and not `torch.jit.save`."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name.partition("/")[2] for name in archive.namelist()]
    except (OSError, zipfile.BadZipFile):
        return False
    return "data.pkl" in names and "constants.pkl" not in names


def read_state_dict(path: Path) -> Checkpoint:
    """Reads a network. @raises PolicyRefusal naming the tensor or field that is wrong."""
    pickled = find_pickled_class(path)
    if pickled is not None:
        raise PolicyRefusal(
            f"{path.name} holds a whole object of {pickled}, as torch.save(module) writes it, and reading that would run its code; "
            f"save module.state_dict() with its architecture, as muster.save_policy of the package muster-eval does: {REMEDY}"
        )
    if not _begins_like_one(path):
        raise PolicyRefusal(f"{path.name} is not an intact file of torch.save: it begins neither as a zip archive nor as a pickle")
    torch = import_torch(path, "a PyTorch state dict")
    try:
        loaded = as_object(_load(torch, path), "what torch.save has saved")
        architecture = parse_architecture(_read_architecture(loaded))
        return build_mlp(architecture, StateTensors(torch, as_object(loaded.get(TENSORS, loaded), TENSORS)))
    except FieldError as error:
        raise PolicyRefusal(f"{path.name}: {error}") from error


def _begins_like_one(path: Path) -> bool:
    """Returns whether the file begins as a zip archive or, as before PyTorch 1.6, as a pickle of protocol 2 or later."""
    with path.open("rb") as opened:
        first = opened.read(2)
    return first == b"PK" or (first[:1] == b"\x80" and first[1:] in (b"\x02", b"\x03", b"\x04", b"\x05"))


def find_pickled_class(path: Path) -> str | None:
    """Returns the class of the saved object; None for a dictionary, a tensor or an unreadable file.

    It unpickles nothing, so it also works without PyTorch.
    """
    import pickletools

    try:
        with zipfile.ZipFile(path) as archive:
            name = next(name for name in archive.namelist() if name.partition("/")[2] == "data.pkl")
            with archive.open(name) as opened:
                first = opened.read(MOST_OPENING_BYTES)
        for operation, argument, _ in pickletools.genops(first):
            if operation.name not in ("PROTO", "FRAME"):
                return _name_class(argument) if operation.name == "GLOBAL" else None
    except (OSError, zipfile.BadZipFile, NotImplementedError, StopIteration, RuntimeError, ValueError):
        # The reader of the file will report what is wrong.
        return None
    return None


def _name_class(argument: object) -> str | None:
    module, _, name = str(argument).partition(" ")
    # An ordered dictionary, or a tensor by itself.
    return None if module in ("collections", "torch._utils") else f"{module}.{name}"


def _load(torch: Any, path: Path) -> Any:
    import pickle

    try:
        return torch.load(str(path), map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        reason = str(error).rpartition("WeightsUnpickler error:")[2].strip().partition("\n")[0]
        raise PolicyRefusal(
            f"{path.name} holds more than tensors and plain values, and reading that would run its code: {reason}; {REMEDY}"
        ) from error
    except Exception as error:
        # A damaged archive may fail with any exception.
        raise PolicyRefusal(f"{path.name} is not an intact file of torch.save: {error}") from error


def _read_architecture(loaded: Object) -> Object:
    if ARCHITECTURE not in loaded:
        raise FieldError(
            f'there is no "{ARCHITECTURE}" beside the tensors, expected the architecture in format {FORMAT}; '
            "muster.save_policy of the package muster-eval writes it (docs/checkpoints.md)"
        )
    value = loaded[ARCHITECTURE]
    return parse_object(value, ARCHITECTURE) if isinstance(value, str) else as_object(value, ARCHITECTURE)


class StateTensors:
    """The tensors of a state dict, all of one dtype. Each is checked when it is taken."""

    def __init__(self, torch: Any, tensors: Object) -> None:
        self._torch = torch
        self._tensors = {name: value for name, value in tensors.items() if isinstance(value, torch.Tensor)}
        self._dtype: Any = None

    def has(self, name: str) -> bool:
        return name in self._tensors

    def take(self, name: str, dimensions: int) -> Array:
        """Returns a tensor. @raises FieldError"""
        if name not in self._tensors:
            raise FieldError(f'there is no tensor "{name}"; there are {", ".join(sorted(map(str, self._tensors))) or "none"}')
        tensor = self._tensors[name].detach()
        if tensor.dim() != dimensions or 0 in tensor.shape:
            raise FieldError(f'tensor "{name}" has the shape {list(tensor.shape)}, expected {dimensions} dimensions, none of them 0')
        if tensor.dtype not in (self._torch.float32, self._torch.float64):
            raise FieldError(f'tensor "{name}" is {tensor.dtype}, expected torch.float32 or torch.float64')
        if self._dtype not in (None, tensor.dtype):
            raise FieldError(f'tensor "{name}" is {tensor.dtype} and others are {self._dtype}, expected one type for all')
        self._dtype = tensor.dtype
        array: Array = tensor.contiguous().numpy()
        if not is_finite(array):
            raise FieldError(f'tensor "{name}" holds numbers that are not finite: the training has diverged')
        return array

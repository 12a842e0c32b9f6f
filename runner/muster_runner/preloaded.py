"""Policies and code that were loaded before this process was forked, and are shared with its siblings.

In a process that was not forked there are none.
"""

import importlib
import time
from dataclasses import dataclass
from pathlib import Path

from muster_runner.carried_code import keep, visit
from muster_runner.digest import verify_digest, verify_digest_beside
from muster_runner.loading_bounds import bounded_loading
from muster_runner.policies.carried_policy import CarriedPolicy
from muster_runner.policies.checkpoint import Checkpoint
from muster_runner.policies.checkpoint_directory import read_description
from muster_runner.policies.read_checkpoint import read_checkpoint
from muster_runner.refusal import PolicyRefusal

# Suffixes of formats that hold numbers and a description of the computation, and run no code while they are read.
DATA_SUFFIXES = (".safetensors", ".onnx")

_preloaded: dict[str, Checkpoint] = {}


@dataclass(frozen=True)
class LoadCost:
    """The cost of loading a policy, which forked processes save."""

    # Bytes of memory that are not backed by a file.
    own_bytes: int
    # Processor seconds, without the verification.
    seconds: float


def find_preloaded(digest: str) -> Checkpoint | None:
    return _preloaded.get(digest)


def preload_policy(path: Path, digest: str, trusted: bool) -> LoadCost:
    """Loads a policy. @param trusted: whether its code may run here, in the memory of all sandboxes that are forked later.

    @raises PolicyRefusal when its digest is wrong, it cannot be read, or it is not pure data and not trusted.
    """
    bytes_before, seconds_before = _count_own_bytes(), time.thread_time()
    _preload(path, digest, trusted)
    return LoadCost(max(0, _count_own_bytes() - bytes_before), time.thread_time() - seconds_before)


def _preload(path: Path, digest: str, trusted: bool) -> None:
    if trusted:
        verify_digest(path, digest)
        _preloaded[digest] = _read_trusted(path)
        return
    with verify_digest_beside(path, digest):
        if not _is_data(path):
            raise PolicyRefusal(f"{path.name} is not data alone: each sandbox loads it by itself")
        with bounded_loading(path):
            policy = read_checkpoint(path)
    _preloaded[digest] = policy


def _read_trusted(path: Path) -> Checkpoint:
    if not path.is_dir():
        return read_checkpoint(path)
    # Only trusted code makes the directory importable. Otherwise a module in it could replace a library that reads the data.
    visited = visit(path)
    checkpoint = read_checkpoint(path)
    if isinstance(checkpoint, CarriedPolicy):
        importlib.import_module(checkpoint.module)
    keep(visited)
    return checkpoint


def preload_code(directory: Path, modules: list[str]) -> None:
    """Imports modules of a suite for the first load of code from this directory only. @raises whatever they raise."""
    visited = visit(directory)
    for module in modules:
        importlib.import_module(module)
    keep(visited)


def _count_own_bytes() -> int:
    status = Path("/proc/self/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("RssAnon:"))
    return 1024 * int(line.split()[1])


def _is_data(path: Path) -> bool:
    found = read_description(path) if path.is_dir() else path
    return isinstance(found, Path) and found.suffix in DATA_SUFFIXES

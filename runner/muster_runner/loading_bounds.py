"""Bounds on the resources for loading untrusted data outside of a sandbox.

Programs are forked from the process that loads it. So its limits are lowered only meanwhile, and what cannot be loaded within them is
left to each sandbox, whose own limits hold.
"""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# What a library needs besides the numbers themselves, which it may have several times while it turns them into what it computes with.
_MEMORY_BYTES = 2**30
_MEMORY_PER_BYTE = 3
# Of a processor: seconds for whatever it is, and for its size at what the slowest library reads.
_PROCESSOR_SECONDS = 60
_BYTES_PER_SECOND = 10 * 2**20


@contextmanager
def bounded_loading(path: Path) -> Iterator[None]:
    """Memory beyond the bound is not to be had: MemoryError, or what a library makes of it. Time beyond it ends the process: SIGXCPU."""
    size = _measure(path)
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(used.ru_utime + used.ru_stime) + _PROCESSOR_SECONDS + size // _BYTES_PER_SECOND
    with (
        _lowered(resource.RLIMIT_DATA, _read_data_bytes() + _MEMORY_BYTES + _MEMORY_PER_BYTE * size),
        _lowered(resource.RLIMIT_CPU, seconds),
    ):
        yield


@contextmanager
def _lowered(limit: int, value: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(limit)
    lower = value if soft == resource.RLIM_INFINITY else min(value, soft)
    resource.setrlimit(limit, (lower, hard))
    try:
        yield
    finally:
        resource.setrlimit(limit, (soft, hard))


def _measure(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def _read_data_bytes() -> int:
    """What the kernel holds against the limit."""
    status = Path("/proc/self/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmData:"))
    return 1024 * int(line.split()[1])

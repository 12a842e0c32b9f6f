"""Bounds the resources for loading untrusted data outside of a sandbox.

The process that loads it also forks programs, so its limits are lowered only while it loads. Data that cannot be loaded within the bounds
is left to the sandboxes, which have limits of their own.
"""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Bytes for the library, and bytes for each byte of the data, because the library may hold its numbers several times.
_MEMORY_BYTES = 2**30
_MEMORY_PER_BYTE = 3
# Processor seconds for a load of any size, and the bytes for which a further second is allowed: the rate of the slowest library.
_PROCESSOR_SECONDS = 60
_BYTES_PER_SECOND = 10 * 2**20


@contextmanager
def bounded_loading(path: Path) -> Iterator[None]:
    """Bounds memory and processor time. Past the memory, allocating fails: MemoryError, or an error that a library makes of it. Past the
    time, SIGXCPU ends the process.
    """
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
    """Returns the memory that the kernel counts against the limit."""
    status = Path("/proc/self/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmData:"))
    return 1024 * int(line.split()[1])

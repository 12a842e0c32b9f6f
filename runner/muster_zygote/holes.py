"""Fills the holes between used memory before forks.

A child that allocates in a hole writes to a shared page, and so copies it. Holes lie on many pages. Without holes, a child's memory lies
together, on few pages of its own: a sandbox that has played CartPole is smaller by at least a twentieth.
"""

import ctypes
from collections.abc import Iterator

# Parameters of CPython's allocator, which keeps objects up to 512 bytes in pools of one size each (Objects/obmalloc.c).
STEP = 16
LARGEST_OBJECT = 512
POOL = 16 << 10
POOL_HEADER = 48
ARENA = 1 << 20
# Parameters of the C library's allocator. It requests larger chunks from the system each time.
LARGEST_CHUNK = 64 << 10
SMALLEST_CHUNK = 24
# It keeps chunks up to this size in lists of one size each.
EXACT = 1 << 10
MOST_CHUNKS = 1 << 16

_filling: list[object] = []


def fill_holes() -> None:
    """Fills the holes with objects that are never freed. Call it last: memory that is freed afterwards is a hole again."""
    for size in range(STEP, LARGEST_OBJECT + 1, STEP):
        _fill_pools(size)
    _fill_heap()


def _fill_pools(size: int) -> None:
    """Makes objects of this size until they come one after the other from the beginning of a pool, which was unused."""
    last = 0
    for _ in range(ARENA // size):
        filler = _make_object(size)
        _filling.append(filler)
        address = id(filler)
        if last % POOL == POOL_HEADER and address == last + size:
            return
        last = address


def _make_object(size: int) -> object:
    """Makes a new object in the pools of this size."""
    if size <= object.__basicsize__:
        return object()
    # The sum is a new object; a constant of this value would be kept by the compiler and not allocated here.
    return bytes(size - bytes.__basicsize__) if size > bytes.__basicsize__ else 10**12 + len(_filling)


def _fill_heap() -> None:
    """Takes chunks of every size, the largest first, until the next chunk comes from unused memory."""
    libc = ctypes.CDLL(None)
    malloc, free = libc.malloc, libc.free
    malloc.argtypes, malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
    free.argtypes, free.restype = [ctypes.c_void_p], None
    end: int = malloc(LARGEST_CHUNK)
    for size in _list_chunk_sizes():
        for _ in range(MOST_CHUNKS):
            address: int = malloc(size)
            if address > end:
                free(address)
                break
    free(end)


def _list_chunk_sizes() -> Iterator[int]:
    size = LARGEST_CHUNK
    while size > EXACT:
        yield size
        size = size * 15 // 16 // STEP * STEP
    yield from range(EXACT, SMALLEST_CHUNK - 1, -STEP)

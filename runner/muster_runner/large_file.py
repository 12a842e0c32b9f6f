"""Reads a large file once, without having the machine find memory for all of it.

What is in the page cache is read from there. What is not is read past it (O_DIRECT): most of what reading it otherwise takes is getting
memory for it, of which a policy may need little.
"""

import errno
import mmap
import os
import resource
from collections.abc import Generator

# From this size on.
LARGE_BYTES = 64 << 20
BLOCK_BYTES = 1 << 20


def read_large_pieces(file: int) -> Generator[memoryview]:
    """The bytes of an open file, from the first to the last. Each piece is good until the next is asked for.

    The file is read past the page cache unless its middle is cached.

    @raises OSError
    """
    # Pages of its own, as a disk needs them to write into; given back with it.
    block = memoryview(mmap.mmap(-1, BLOCK_BYTES))
    direct = None if _is_cached(file, os.fstat(file).st_size // 2) else _open_directly(file)
    try:
        source, position = file if direct is None else direct, 0
        while True:
            count = _read(source, block, position)
            if source == direct and count < BLOCK_BYTES:
                # The end, or a file system that does not read this way after all.
                source = file
            elif count == 0:
                return
            if count > 0:
                yield block[:count]
                position += count
    finally:
        if direct is not None:
            os.close(direct)


def _open_directly(file: int) -> int | None:
    try:
        return os.open(f"/proc/self/fd/{file}", os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC)
    except OSError:
        return None


def _is_cached(file: int, position: int) -> bool:
    """Whether this thread can read a byte without the kernel counting that it had a disk read for it."""
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_inblock
    os.pread(file, 1, position)
    return resource.getrusage(resource.RUSAGE_THREAD).ru_inblock == before


def _read(source: int, block: memoryview, position: int) -> int:
    try:
        return os.preadv(source, [block], position)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        return 0

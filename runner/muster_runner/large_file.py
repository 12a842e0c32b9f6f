"""Reads a large file once, without filling the machine's memory with it.

Parts in the page cache are read from there. Other parts are read past it (O_DIRECT): allocating page-cache memory would take most of the
time, and a policy may need little of the file.
"""

import errno
import mmap
import os
import resource
from collections.abc import Generator

# In bytes: files from this size on are read in this way.
LARGE_BYTES = 64 << 20
BLOCK_BYTES = 1 << 20


def read_large_pieces(file: int) -> Generator[memoryview]:
    """Yields the bytes of an open file, from the first to the last. Each piece is valid until the next is requested.

    The file is read past the page cache unless its middle is cached.

    @raises OSError
    """
    # A block of whole pages, because O_DIRECT requires aligned memory. The pages are freed with the block.
    block = memoryview(mmap.mmap(-1, BLOCK_BYTES))
    direct = None if _is_cached(file, os.fstat(file).st_size // 2) else _open_directly(file)
    try:
        source, position = file if direct is None else direct, 0
        while True:
            count = _read(source, block, position)
            if source == direct and count < BLOCK_BYTES:
                # The file has ended, or its file system does not support O_DIRECT reads after all.
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
    """Returns whether a byte is in the page cache: reading it then counts as no disk read of this thread."""
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

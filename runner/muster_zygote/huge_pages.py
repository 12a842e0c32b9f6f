"""Has the kernel keep loaded data in huge pages.

To fork and to end a process, the kernel visits every entry of its page tables, which also take memory. For a gigabyte in small pages, that
is milliseconds and two megabytes for each sandbox.
"""

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from muster_zygote.linux import libc

HUGE_PAGE = 2 << 20
# In bytes. Children write to smaller regions, and should copy small pages of them.
LARGE_REGION = 32 << 20
# A library fills memory as soon as it gets it. Memory that it fills between two looks is copied to huge pages afterwards.
LOOK_SECONDS = 0.01
# Advice of madvise(2). The second exists since Linux 6.1.
_MADV_HUGEPAGE, _MADV_COLLAPSE = 14, 25


@contextmanager
def use_huge_pages() -> Iterator[None]:
    """Puts large regions of this process's own memory that are filled in the block into huge pages. Where the kernel does not, they stay
    unchanged.

    Libraries allocate the regions, and do not request huge pages. So a thread looks for new regions while they are filled. It ends with the
    block.
    """
    filled = threading.Event()
    thread = threading.Thread(target=_watch, args=(filled,))
    thread.start()
    try:
        yield
    finally:
        filled.set()
        thread.join()
    for start, end in list_large_regions():
        begin, length = -(-start // HUGE_PAGE) * HUGE_PAGE, end - start - 2 * HUGE_PAGE
        _advise(begin, length // HUGE_PAGE * HUGE_PAGE, _MADV_COLLAPSE)


def _watch(filled: threading.Event) -> None:
    known: set[tuple[int, int]] = set()
    while not filled.wait(LOOK_SECONDS):
        for region in list_large_regions():
            if region not in known:
                known.add(region)
                start, end = region
                _advise(start, end - start, _MADV_HUGEPAGE)


def _advise(start: int, length: int, advice: int) -> None:
    """Advises the kernel, which need not follow."""
    libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(length), advice)


def list_large_regions() -> list[tuple[int, int]]:
    """Returns the beginning and the end of each."""
    found: list[tuple[int, int]] = []
    for line in Path("/proc/self/maps").read_text().splitlines():
        addresses, permissions, _offset, _device, inode, *_name = line.split()
        start, end = (int(address, 16) for address in addresses.split("-"))
        if permissions == "rw-p" and inode == "0" and end - start >= LARGE_REGION:
            found.append((start, end))
    return found

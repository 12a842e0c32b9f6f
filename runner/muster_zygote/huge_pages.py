"""Has the kernel hold what is loaded in huge pages.

Forking and ending a process costs a look at every entry of its page tables, and they are memory, too: for a gigabyte in small pages that
is milliseconds and two megabytes for each sandbox.
"""

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from muster_zygote.linux import libc

HUGE_PAGE = 2 << 20
# In bytes. Smaller ones hold what each child writes on: of those it is to copy small pages.
LARGE_REGION = 32 << 20
# A library fills memory as soon as it has it. Memory that it fills between two looks becomes huge pages afterwards, by a copy.
LOOK_SECONDS = 0.01
# Advice of madvise(2); the second since Linux 6.1.
_MADV_HUGEPAGE, _MADV_COLLAPSE = 14, 25


@contextmanager
def huge_pages() -> Iterator[None]:
    """For large regions of this process's own memory that are filled within. What the kernel does not do stays as it was.

    The regions are a library's, which asks for small pages. So a thread looks for new ones while they are filled; it is gone afterwards.
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
    """The kernel need not take the advice."""
    libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(length), advice)


def list_large_regions() -> list[tuple[int, int]]:
    """Where they begin and end."""
    found: list[tuple[int, int]] = []
    for line in Path("/proc/self/maps").read_text().splitlines():
        addresses, permissions, _offset, _device, inode, *_name = line.split()
        start, end = (int(address, 16) for address in addresses.split("-"))
        if permissions == "rw-p" and inode == "0" and end - start >= LARGE_REGION:
            found.append((start, end))
    return found

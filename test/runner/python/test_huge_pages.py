"""Large regions that a library fills are held in huge pages, and nothing of looking after them stays."""

import mmap
import threading
from pathlib import Path

import pytest

from muster_zygote.huge_pages import HUGE_PAGE, LARGE_REGION, list_large_regions, use_huge_pages

SETTING = Path("/sys/kernel/mm/transparent_hugepage/enabled")
BYTES = 2 * LARGE_REGION


def in_huge_pages() -> int:
    """Bytes of this process's own memory."""
    lines = Path("/proc/self/smaps").read_text().splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("AnonHugePages:"))


def filled(size: int) -> mmap.mmap:
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for at in range(0, size, mmap.PAGESIZE):
        memory[at] = 1
    return memory


@pytest.mark.skipif(not SETTING.exists() or "[never]" in SETTING.read_text(), reason="this kernel gives no huge pages")
def test_memory_that_is_filled_within_the_context_is_in_huge_pages_afterwards() -> None:
    before = in_huge_pages()
    with use_huge_pages():
        memory = filled(BYTES)
    assert in_huge_pages() - before >= BYTES - 4 * HUGE_PAGE
    memory.close()


def test_a_small_region_is_left_as_it_is() -> None:
    before = in_huge_pages()
    with use_huge_pages():
        memory = filled(LARGE_REGION // 2)
    assert in_huge_pages() == before
    memory.close()


def test_no_thread_is_left_whatever_happens_within_the_context() -> None:
    with pytest.raises(ValueError, match="no model"), use_huge_pages():
        raise ValueError("no model")
    assert threading.active_count() == 1


def test_regions_are_distinguished_by_their_start_and_end() -> None:
    memory = filled(BYTES)
    assert any(end - start >= BYTES for start, end in list_large_regions())
    memory.close()

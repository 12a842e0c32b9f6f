"""What is free between what is in use is used up before the forks."""

import subprocess
import sys

from runner_process import REPOSITORY

# Every second of many allocations is freed, which leaves holes in each page; then the program prints how many new ones fill them.
PROGRAM = """
import ctypes, sys
sys.path.insert(0, {runner!r})
from muster_zygote.holes import fill_holes

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
page = lambda address: address // 4096

def objects(size):
    return [bytes(size) for _ in range(4000)], id

def numbers(_size):
    return [10**15 + i for i in range(4000)], id

def chunks(size):
    return [libc.malloc(size) for _ in range(4000)], int

def leave_holes(made):
    pages = {{page(address(one)) for one in made[0] for address in [made[1]]}}
    if made[1] is int:
        for one in made[0][::2]:
            libc.free(one)
    del made[0][::2]
    return pages

makers = [(numbers, 0), (objects, 60), (objects, 400), (chunks, 700), (chunks, 3000)]
kept = [make(size) for make, size in makers]
old = [leave_holes(made) for made in kept]
if {fill}:
    fill_holes()
new = [make(size) for make, size in makers]
print([sum(page(address(one)) in pages for one in made[:1000]) for (made, address), pages in zip(new, old)])
"""


def in_old_pages(fill: bool) -> list[int]:
    """How many of a thousand new allocations of each kind lie on pages that were there before."""
    program = PROGRAM.format(runner=str(REPOSITORY / "runner"), fill=fill)
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True, timeout=60)
    return [int(count) for count in done.stdout.strip("[]\n").split(",")]


def test_later_allocations_are_on_pages_of_their_own() -> None:
    assert in_old_pages(fill=False) == [1000] * 5
    # The last page of all is begun already.
    assert max(in_old_pages(fill=True)) < 20

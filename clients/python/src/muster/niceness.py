"""Lowers the priority of a server and its descendants beside a program that computes."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

PROCESSES = Path("/proc")
HAS_PASSED = (errno.ENOENT, errno.ESRCH, errno.EAGAIN)
"""Errors that need no handling: the process has ended, or the kernel has already accepted ten changes within a second. The next call
changes the rest.
"""


def lower(pid: int, niceness: int) -> None:
    """Raises the niceness of a process, its descendants and their sessions to a minimum. Call it again for later descendants.

    Where the kernel groups processes by sessions (autogroups, sched(7)), it divides processors between sessions, and the niceness of a
    process counts within its session only. Each sandbox begins a session of its own, with the niceness 0.
    """
    for process in _list_with_descendants(pid):
        try:
            # Each thread has a niceness, and passes it on to the processes that it starts.
            for thread in (PROCESSES / str(process) / "task").iterdir():
                if os.getpriority(os.PRIO_PROCESS, int(thread.name)) < niceness:
                    os.setpriority(os.PRIO_PROCESS, int(thread.name), niceness)
            group = PROCESSES / str(process) / "autogroup"
            # "/autogroup-24 nice 0"; nothing while the kernel has autogroups turned off.
            found = group.read_text().split()
            if found and int(found[-1]) < niceness:
                group.write_text(str(niceness))
        except OSError as error:
            if error.errno not in HAS_PASSED:
                raise


def _list_with_descendants(pid: int) -> Iterator[int]:
    yield pid
    for children in PROCESSES.glob(f"{pid}/task/*/children"):
        try:
            found = children.read_text().split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        for child in found:
            yield from _list_with_descendants(int(child))

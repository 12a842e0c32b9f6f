"""Finds, measures and ends all processes of the sandbox but this one."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from typing import NamedTuple

from muster_workspace.linux import count_ipc, remove_ipc

_PROC = "/proc"
_READ_BYTES = 1 << 16
# Less than a page minus its longest line, so a read of at most this size is the last.
_LAST_BYTES = 1 << 11
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
# Killed processes are gone in microseconds, unless they wait for a disk.
_GONE_SECONDS = 10.0


class Remaining(Exception):
    """Processes that were killed still exist."""


def list_others() -> Iterator[int]:
    """Yields the ids of all processes but this one."""
    own = str(os.getpid())
    with os.scandir(_PROC) as entries:
        names = [entry.name for entry in entries]
    # Names of other entries in /proc begin with letters.
    return (int(name) for name in names if "0" <= name[0] <= "9" and name != own)


def is_alone_with(pid: int) -> bool:
    """Returns whether no process exists but this one and that of `pid`; False where that is unknown.

    A process that forks while the processes are counted could hide its children. But then the last process id that the kernel assigned has
    changed.
    """
    before = _read_last_number()
    return all(each == pid for each in list_others()) and before is not None and before == _read_last_number()


def _read_last_number() -> str | None:
    """Returns the process id that this pid namespace assigned last; None where the kernel does not report it."""
    try:
        last = read_proc("loadavg").split()[-1].decode()
    except OSError:
        return None
    return None if last == "0" else last


def measure_resident_bytes(but: int | None = None) -> int:
    """Returns the resident memory of all others together, but for one of them. Shared memory counts for each."""
    total = 0
    for pid in list_others():
        if pid == but:
            continue
        try:
            total += int(read_proc(f"{pid}/statm").split()[1]) * _PAGE_BYTES
        except (OSError, IndexError):
            continue
    return total


class Thread(NamedTuple):
    """A thread's figures from the kernel."""

    waited: float
    """Seconds that it has waited for a processor while it was ready. A wait counts when it ends."""
    ran: tuple[bytes, bytes]
    """The time for which it has run, and how often. Both stay the same while it waits."""
    is_ready: bool
    """Whether it runs, or waits for a processor. False for the thread that measures, which does not wait."""


def look_at_threads() -> dict[str, Thread]:
    """Reads all threads, those of this process included, by their paths in /proc. Returns none where the kernel has no such figures."""
    looked = {}
    own = os.getpid()
    for pid in (*list_others(), own):
        with contextlib.suppress(OSError):
            with os.scandir(f"{_PROC}/{pid}/task") as threads:
                places = [f"{pid}/task/{thread.name}" for thread in threads]
            for place in places:
                with contextlib.suppress(OSError, ValueError):
                    ran, waited, slices = read_proc(f"{place}/schedstat").split()
                    state = read_proc(f"{place}/stat").rpartition(b")")[2].split(maxsplit=1)[0]
                    looked[place] = Thread(int(waited) / 1e9, (ran, slices), is_ready=state == b"R" and pid != own)
    return looked


def measure_processor_seconds(but: int | None = None) -> float:
    """Returns the processor time that all others, but for one of them, have used, and their reaped children."""
    ticks = 0
    for pid in list_others():
        if pid == but:
            continue
        with contextlib.suppress(OSError):
            # The name comes before these fields, and may contain any byte.
            ticks += sum(map(int, read_proc(f"{pid}/stat").rpartition(b")")[2].split()[11:15]))
    return ticks / _TICKS_A_SECOND


class Accounts:
    """Processor time and memory of processes that have ended."""

    def __init__(self, but: int | None = None) -> None:
        """Starts at zero, and leaves out the process `but`."""
        self.but = but
        self.cpu_seconds = 0.0
        self.largest_bytes = 0
        self.statuses: dict[int, int] = {}

    def reap(self) -> bool:
        """Reaps every process that has ended, orphans included. Returns whether a child still runs."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid != self.but:
                self.add(pid, status, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)

    def add(self, pid: int, status: int, cpu_seconds: float, largest_bytes: int) -> None:
        """Adds a process that has ended."""
        self.statuses[pid] = status
        self.cpu_seconds += cpu_seconds
        self.largest_bytes = max(self.largest_bytes, largest_bytes)


def end_all(accounts: Accounts) -> None:
    """Kills every other process, reaps them, and removes the kernel objects that processes leave. Raises Remaining."""
    # Orphans become children of a namespace's first process. So if it has no child, no other process exists. That saves a signal to all
    # processes, for which the kernel walks through all processes of the machine.
    if accounts.reap() or os.getpid() != 1:
        _kill_all(accounts)
    remove_all_ipc()


def _kill_all(accounts: Accounts) -> None:
    deadline = time.monotonic() + _GONE_SECONDS
    while True:
        try:
            # Kills everything that this user may signal, except this process, which is the first.
            os.kill(-1, signal.SIGKILL)
        except ProcessLookupError:
            # No other process exists, not even an unreaped one.
            break
        accounts.reap()
        if next(list_others(), None) is None:
            break
        if time.monotonic() > deadline:
            raise Remaining(f"processes {list(list_others())} do not end")
        time.sleep(0.0005)


def end_one(pid: int) -> None:
    """Kills and reaps a child, if it still exists."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


def remove_all_ipc() -> None:
    """Removes the kernel objects that processes leave: System V shared memory, message queues and semaphores."""
    for kind in ("shm", "msg", "sem"):
        # Counting takes a fifth of the time of reading the lists, which are nearly always empty.
        if count_ipc(kind) == 0:
            continue
        for number in _list_ipc_numbers(kind):
            remove_ipc(kind, number)


def _list_ipc_numbers(kind: str) -> list[int]:
    try:
        lines = read_proc(f"sysvipc/{kind}").splitlines()
    except FileNotFoundError:
        return []
    return [int(line.split()[1]) for line in lines[1:]]


def read_proc(name: str) -> bytes:
    """Returns the content of a file of /proc."""
    descriptor = os.open(f"{_PROC}/{name}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = [os.read(descriptor, _READ_BYTES)]
        # The kernel fills at least a page, unless the file ends.
        while len(parts[-1]) > _LAST_BYTES:
            parts.append(os.read(descriptor, _READ_BYTES))
        return b"".join(parts)
    finally:
        os.close(descriptor)

"""All processes of the sandbox but this one."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from typing import NamedTuple

from muster_workspace.linux import count_ipc, remove_ipc

_PROC = "/proc"
_READ_BYTES = 1 << 16
# Less than a page without its longest line.
_LAST_BYTES = 1 << 11
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
# Killed processes are gone in microseconds, but for one that waits for a disk.
_GONE_SECONDS = 10.0


class Remaining(Exception):
    """Processes were killed and are still there."""


def others() -> Iterator[int]:
    """The ids of all processes but this one."""
    own = str(os.getpid())
    with os.scandir(_PROC) as entries:
        names = [entry.name for entry in entries]
    # Names of other files there begin with letters.
    return (int(name) for name in names if "0" <= name[0] <= "9" and name != own)


def is_alone_with(pid: int) -> bool:
    """Whether there is no process but this one and that. False where that cannot be known.

    A process that starts others while they are counted could hide among them: the number that the kernel gave out last would have changed.
    """
    before = _read_last_number()
    return all(each == pid for each in others()) and before is not None and before == _read_last_number()


def _read_last_number() -> str | None:
    """The process id that was given out last in this pid namespace; None where the kernel does not say."""
    try:
        last = read_proc("loadavg").split()[-1].decode()
    except OSError:
        return None
    return None if last == "0" else last


def resident_bytes(but: int | None = None) -> int:
    """The memory of all others together, without that of one. What several have mapped counts for each."""
    total = 0
    for pid in others():
        if pid == but:
            continue
        try:
            total += int(read_proc(f"{pid}/statm").split()[1]) * _PAGE_BYTES
        except (OSError, IndexError):
            continue
    return total


class Thread(NamedTuple):
    """What the kernel says of one."""

    waited: float
    """Seconds for which it was ready and waited for a processor, each time until it ran."""
    ran: tuple[bytes, bytes]
    """For how long it has run, and how often. Both stay while it waits."""
    is_ready: bool
    """Whether it runs, or waits for a processor. Not of what looks, which does not wait."""


def look_at_threads() -> dict[str, Thread]:
    """All threads, those of this process included, by their places in /proc. None where the kernel does not say."""
    looked = {}
    own = os.getpid()
    for pid in (*others(), own):
        with contextlib.suppress(OSError):
            with os.scandir(f"{_PROC}/{pid}/task") as threads:
                places = [f"{pid}/task/{thread.name}" for thread in threads]
            for place in places:
                with contextlib.suppress(OSError, ValueError):
                    ran, waited, slices = read_proc(f"{place}/schedstat").split()
                    state = read_proc(f"{place}/stat").rpartition(b")")[2].split(maxsplit=1)[0]
                    looked[place] = Thread(int(waited) / 1e9, (ran, slices), is_ready=state == b"R" and pid != own)
    return looked


def processor_seconds(but: int | None = None) -> float:
    """What all others, without one, have used so far, with what they have waited for of theirs."""
    ticks = 0
    for pid in others():
        if pid == but:
            continue
        with contextlib.suppress(OSError):
            # The name comes before, and may have any byte in it.
            ticks += sum(map(int, read_proc(f"{pid}/stat").rpartition(b")")[2].split()[11:15]))
    return ticks / _TICKS_A_SECOND


class Accounts:
    """Processor time and memory of processes that have ended."""

    def __init__(self, but: int | None = None) -> None:
        """Without what one of them has used."""
        self.but = but
        self.cpu_seconds = 0.0
        self.largest_bytes = 0
        self.statuses: dict[int, int] = {}

    def reap(self) -> bool:
        """Bury everything that has ended, orphans included. Returns whether there is a child that has not."""
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
        """Count a process that has ended."""
        self.statuses[pid] = status
        self.cpu_seconds += cpu_seconds
        self.largest_bytes = max(self.largest_bytes, largest_bytes)


def end_all(accounts: Accounts) -> None:
    """Kill every other process, reap them, and remove what processes leave in the kernel. Raises Remaining."""
    # Orphans become children of a namespace's first process: without a child it is alone there. To signal all of a namespace, the kernel
    # goes through all processes of the machine.
    if accounts.reap() or os.getpid() != 1:
        _kill_all(accounts)
    remove_all_ipc()


def _kill_all(accounts: Accounts) -> None:
    deadline = time.monotonic() + _GONE_SECONDS
    while True:
        try:
            # Everything that this user may signal, without the first process, which this is.
            os.kill(-1, signal.SIGKILL)
        except ProcessLookupError:
            # There is no other, not even one that has ended and was not reaped.
            break
        accounts.reap()
        if next(others(), None) is None:
            break
        if time.monotonic() > deadline:
            raise Remaining(f"processes {list(others())} do not end")
        time.sleep(0.0005)


def end_one(pid: int) -> None:
    """Kill and reap a child, if it is still there."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


def remove_all_ipc() -> None:
    """Remove what processes leave in the kernel."""
    for kind in ("shm", "msg", "sem"):
        # Asking takes a fifth of the time of reading the lists, which are nearly always empty.
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
    """The content of a file of /proc."""
    descriptor = os.open(f"{_PROC}/{name}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = [os.read(descriptor, _READ_BYTES)]
        # The kernel fills a page at least, unless there is nothing more.
        while len(parts[-1]) > _LAST_BYTES:
            parts.append(os.read(descriptor, _READ_BYTES))
        return b"".join(parts)
    finally:
        os.close(descriptor)

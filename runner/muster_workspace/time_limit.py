"""Measures the time of a command, without the time for which a busy machine keeps it waiting."""

import os
import time
from typing import NamedTuple

from muster_workspace.processes import Accounts, Thread, look_at_threads, measure_processor_seconds

# The bound on waiting. A command can make itself wait, by many processes that use little. command.ts waits for this time, too.
_WAITING_SECONDS = 300.0
# Seconds between two looks. A process that waits and ends between two looks is missed.
_LOOK_SECONDS = 0.25


class _Seen(NamedTuple):
    ran: tuple[bytes, bytes]
    pending: float
    """Seconds of a wait that has not ended. The kernel reports a wait when it ends, which may be after the command's time on a busy
    machine.
    """
    waited: float


class TimeLimit:
    """The limit of one command, by the monotonic clock.

    The time for which its processes wait for a processor is added. But after `seconds` it also ends when it has used as much processor time
    as all processors could have given it: a command that waits for its own processes uses that much.
    """

    def __init__(
        self, start: float, seconds: float, accounts: Accounts, alone: bool = False, most_waiting: float = _WAITING_SECONDS
    ) -> None:
        """Begins to count now, without the process that the accounts leave out. One that runs alone has waited since its start only."""
        self._most_waiting = most_waiting
        self._accounts = accounts
        self._end = start + seconds
        self._seconds = seconds
        self._used_before = 0.0 if alone else self._measure_used()
        self._looked = start
        self._seen = {} if alone else {place: _Seen(thread.ran, 0.0, thread.waited) for place, thread in look_at_threads().items()}
        self.waited_seconds = 0.0
        self.deadline = min(self._end, start + _LOOK_SECONDS)
        """The time of the next look."""

    def shorten(self, now: float, seconds: float) -> None:
        """Leaves the command at most these seconds. Earlier waits do not prolong them."""
        self._look()
        if now + seconds >= self._end + self.waited_seconds:
            return
        self._end = now + seconds - self.waited_seconds
        self.deadline = min(self.deadline, now + seconds)

    def is_over(self) -> bool:
        """Returns whether the command has to be ended."""
        if time.monotonic() < self.deadline:
            return False
        self._look()
        now, end = time.monotonic(), self._end + self.waited_seconds
        self.deadline = min(end, now + _LOOK_SECONDS)
        return now >= end or (now >= self._end and self._measure_used() - self._used_before >= self._measure_most_used())

    def _look(self) -> None:
        now = time.monotonic()
        since, self._looked = now - self._looked, now
        seen = {place: self._see(place, thread, since) for place, thread in look_at_threads().items()}
        before = self._seen
        # These two processes have waited before the command started. The command waits for them, because they start it and report its end.
        older = tuple(f"{pid}/" for pid in (os.getpid(), self._accounts.but))
        # Without a look at the start, it is unknown how long this process had waited before. Its waits since then delay the first look.
        added = 0.0 if before else max(0.0, now - self.deadline)
        for place, each in seen.items():
            if place in before:
                added += each.waited - before[place].waited
            elif not place.startswith(older):
                added += each.waited
        self._seen = seen
        self.waited_seconds = min(self._most_waiting, self.waited_seconds + added)

    def _see(self, place: str, thread: Thread, since: float) -> _Seen:
        before = self._seen.get(place)
        if before is None:
            pending = since if thread.is_ready and thread.ran[1] == b"0" else 0.0
            return _Seen(thread.ran, pending, thread.waited + pending)
        pending = before.pending + since if thread.is_ready and thread.ran == before.ran else 0.0
        return _Seen(thread.ran, pending, max(before.waited, thread.waited + pending))

    def _measure_most_used(self) -> float:
        return self._seconds * len(os.sched_getaffinity(0))

    def _measure_used(self) -> float:
        return self._accounts.cpu_seconds + measure_processor_seconds(self._accounts.but)

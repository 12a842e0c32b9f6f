"""The time that a command has, without what a busy machine keeps it from running: that is not the command's doing."""

import os
import time

from muster_workspace.processes import Accounts, processor_seconds, waits_by_thread

# A bound, because a command can make itself wait, by processes of its own that use little. command.ts waits for it.
_WAITING_SECONDS = 300.0
# Between two looks. What waits for less than this and ends is not seen.
_LOOK_SECONDS = 0.25


class TimeLimit:
    """Of one command, by the monotonic clock.

    What its processes wait for a processor comes on top. Past its seconds it also ends when it has used as much processor time as all
    processors could give it in them: a command that waits for processes of its own uses theirs.
    """

    def __init__(self, start: float, seconds: float, accounts: Accounts, alone: bool = False) -> None:
        """Count from now on, without the process that the accounts leave out. A command that is alone has waited since its start only."""
        self._accounts = accounts
        self._end = start + seconds
        self._most_used = seconds * len(os.sched_getaffinity(0))
        self._used_before = 0.0 if alone else self._measure_used()
        self._waits = {} if alone else waits_by_thread(accounts.but)
        self.waited_seconds = 0.0
        self.deadline = min(self._end, start + _LOOK_SECONDS)
        """When to look again."""

    def shorten(self, now: float, seconds: float) -> None:
        """Leave it these seconds at most. What it has waited before does not prolong them."""
        self._look()
        if now + seconds >= self._end + self.waited_seconds:
            return
        self._end = now + seconds - self.waited_seconds
        self.deadline = min(self.deadline, now + seconds)

    def is_over(self) -> bool:
        """Whether the command is to be ended."""
        if time.monotonic() < self.deadline:
            return False
        self._look()
        now, end = time.monotonic(), self._end + self.waited_seconds
        self.deadline = min(end, now + _LOOK_SECONDS)
        return now >= end or (now >= self._end and self._measure_used() - self._used_before >= self._most_used)

    def _look(self) -> None:
        waits = waits_by_thread(self._accounts.but)
        added = sum(max(0.0, waited - self._waits.get(thread, 0.0)) for thread, waited in waits.items())
        self._waits = waits
        self.waited_seconds = min(_WAITING_SECONDS, self.waited_seconds + added)

    def _measure_used(self) -> float:
        return self._accounts.cpu_seconds + processor_seconds(self._accounts.but)

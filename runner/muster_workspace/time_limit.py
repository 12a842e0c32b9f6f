"""The time that a command has, without what a busy machine keeps it from running: that is not the command's doing."""

import time

from muster_workspace.processes import waiting_seconds

# A bound, because a command can make itself wait, by processes of its own: a multiple of its time, and seconds.
# workspace-session.ts waits for it.
_WAITING_TIMES = 3.0
_WAITING_SECONDS = 60.0


class TimeLimit:
    """Of one command, by the monotonic clock."""

    def __init__(self, start: float, seconds: float, but: int | None, alone: bool = False) -> None:
        """Count the waiting of all processes from now on, without that of one. A command that is alone has waited since its start only."""
        self._but = but
        self._end = self.deadline = start + seconds
        self._most = min(_WAITING_TIMES * seconds, _WAITING_SECONDS)
        self._before = 0.0 if alone else waiting_seconds(but)

    def shorten(self, now: float, seconds: float) -> None:
        """Leave it these seconds at most. What it has waited before does not prolong them."""
        if now + seconds >= self.deadline:
            return
        self._end = self.deadline = now + seconds
        self._most = min(_WAITING_TIMES * seconds, _WAITING_SECONDS)
        self._before = waiting_seconds(self._but)

    def is_over(self) -> bool:
        """Whether the command is to be ended. Moves the deadline by what was waited for a processor."""
        if time.monotonic() < self.deadline:
            return False
        waited = max(0.0, waiting_seconds(self._but) - self._before)
        self.deadline = self._end + min(waited, self._most)
        return time.monotonic() >= self.deadline

"""Limits how long an operation is retried."""

import random
import time

# Pauses grow from a quarter of a second, so that a restarted server gets few requests at once.
_FIRST_PAUSE_SECONDS = 0.25
_LONGEST_PAUSE_SECONDS = 5.0


class Patience:
    """The time that is left for an order."""

    def __init__(self, seconds: float) -> None:
        self._ends = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Returns the seconds that are left; 0 when the time is over."""
        return max(0.0, self._ends - time.monotonic())

    @property
    def is_over(self) -> bool:
        return self.left == 0

    def pause(self, failures: int, asked_seconds: float = 0.0) -> None:
        """Pauses before the next attempt, after this many failures in a row.

        @param asked_seconds: the pause that the server asks for.
        """
        own = min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2.0 ** (failures - 1)) * random.uniform(0.5, 1.0)
        time.sleep(min(self.left, max(own, asked_seconds)))

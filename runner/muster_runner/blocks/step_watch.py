"""Ends a step that does not return, so that the other rows can continue."""

import signal
from collections.abc import Callable, Hashable
from types import FrameType, TracebackType
from typing import Self


class OverdueStep(BaseException):
    """Raised in the middle of what has lasted for too long. No Exception: what environments catch must not stop it."""


class StepWatch:
    """Looks up twice in the time that a step may take at most, by the process's alarm; steps themselves cost nothing by it.

    Code that does not come back to the interpreter is out of reach, and so is code while another alarm is set: then what hangs
    is Muster's to end, and the whole block with it.
    """

    def __init__(self, seconds: float, progress: Callable[[], Hashable | None]) -> None:
        """@param progress: something else for each step; None while no environment is at work."""
        self._seconds = seconds
        self._progress = progress
        self._seen: Hashable | None = None
        self._looks = 0
        self._is_ours = False

    def __enter__(self) -> Self:
        self._is_ours = signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
        if self._is_ours:
            signal.signal(signal.SIGALRM, self._look)
            # Background work of an environment's libraries continues.
            signal.siginterrupt(signal.SIGALRM, False)
            signal.setitimer(signal.ITIMER_REAL, self._seconds / 2, self._seconds / 2)
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None) -> None:
        if self._is_ours:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)

    def _look(self, _number: int, _frame: FrameType | None) -> None:
        progress = self._progress()
        if progress is None or progress != self._seen:
            self._seen, self._looks = progress, 0
            return
        self._looks += 1
        # Seen three times: two whole intervals are between the first and the last.
        if self._looks >= 2:
            raise OverdueStep

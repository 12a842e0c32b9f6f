"""Ends a step that does not return, so that the other rows can continue."""

import signal
from collections.abc import Callable, Hashable
from types import FrameType, TracebackType
from typing import Self


class OverdueStep(BaseException):
    """Interrupts a step that takes too long. It is no Exception, so that `except Exception` in an environment does not stop it."""


class StepWatch:
    """Interrupts a step that takes too long, by the process's alarm. It looks twice in the time that a step may take, so a step
    itself does no extra work.

    Code that does not return to the interpreter cannot be interrupted, nor can code that sets another alarm. Then Muster ends the sandbox,
    and the whole block with it.
    """

    def __init__(self, seconds: float, progress: Callable[[], Hashable | None]) -> None:
        """@param progress: returns a different value for each step; None while no environment runs."""
        self._seconds = seconds
        self._progress = progress
        self._seen: Hashable | None = None
        self._looks = 0
        self._is_ours = False

    def __enter__(self) -> Self:
        self._is_ours = signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
        if self._is_ours:
            signal.signal(signal.SIGALRM, self._look)
            # System calls in the background threads of an environment's libraries are restarted after the alarm.
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
        # Three looks saw the same step, so it has lasted for two whole intervals.
        if self._looks >= 2:
            raise OverdueStep

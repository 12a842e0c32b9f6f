"""Sends requests until they are answered."""

from collections.abc import Callable

from muster_client.arguments import assert_seconds
from muster_client.effects import Exchange, Pause, Request, Response, Steps, perform
from muster_client.errors import MusterError, ServerUnavailable
from muster_client.patience import Patience
from muster_client.problems import problem_in
from muster_client.server_version import warn_of_other_version
from muster_client.settings import Settings

STREAM_IDLE_SECONDS = 45.0
"""Seconds of silence. The server sends something every 15 s, at least a heartbeat."""


SLOW_ANSWER_SECONDS = 900.0
"""The server reads a checkpoint to its end before it answers a question about it, or stores it, which takes minutes for the largest. It
gives up when the caller does, so a second request would start from the beginning.
"""


def call(
    settings: Settings, request: Request, *, repeatable: bool = True, also: frozenset[int] = frozenset(), answer_seconds: float = 0.0
) -> Steps[Response]:
    """Sends a request. @param also: statuses that are answers like any other. Raises an error for other unsuccessful statuses."""
    patience = Patience(settings)
    while True:
        error: MusterError | None
        try:
            response = yield from perform(Exchange(request, answer_seconds))
            warn_of_other_version(settings, response)
            error = None if response.status in also else problem_in(response)
            if error is None:
                return response
        except ServerUnavailable as unavailable:
            error = unavailable
        if not repeatable:
            raise error
        yield from perform(Pause(patience.pause_after(error)))


class Deadline:
    """The end of a wait for an evaluation."""

    def __init__(self, settings: Settings, seconds: float | None, late: Callable[[float], MusterError]) -> None:
        if seconds is not None:
            assert_seconds("timeout", seconds)
        self._now = settings.now
        self._end = None if seconds is None else settings.now() + seconds
        self._error = None if seconds is None else late(seconds)

    def left(self) -> float:
        """Returns the seconds that are left. Raises when none are."""
        if self._end is None or self._error is None:
            return float("inf")
        left = self._end - self._now()
        if left <= 0:
            raise self._error
        return left

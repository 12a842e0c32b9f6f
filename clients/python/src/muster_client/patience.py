"""Decides how long to wait before another attempt, and when to give up."""

import logging

from muster_client.errors import MusterError, QuotaExceeded, ServerUnavailable
from muster_client.settings import Settings

LOGGER = logging.getLogger("muster_client")


class Patience:
    """The patience of one call. It starts with the first failure, and the next success restores it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._failures = 0
        self._since: float | None = None

    def succeeded(self) -> None:
        self._failures = 0
        self._since = None

    def pause_after(self, error: MusterError) -> float:
        """Returns the seconds to wait before the next attempt. Raises the error when no further attempt is due."""
        retry, now = self._settings.retry, self._settings.now()
        self._since = now if self._since is None else self._since
        left = self._since + retry.patience_seconds - now
        match error:
            case ServerUnavailable(retry_after=None):
                most = min(retry.longest_seconds, retry.first_seconds * 2.0 ** min(self._failures, 32))
                pause = self._settings.draw() * most
            case ServerUnavailable(retry_after=float(asked)) | QuotaExceeded(retry_after=float(asked)):
                pause = asked
            case _:
                raise error
        if pause > left:
            raise error
        if self._failures == 0:
            # Without a message, a script that cannot reach its server would seem to hang.
            LOGGER.warning("%s; trying again for %g s", error, left)
        self._failures += 1
        return pause

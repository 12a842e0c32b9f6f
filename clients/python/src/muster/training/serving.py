"""Provides the evaluating server: one that the user names, or the trainer's own."""

import logging
import os
from contextlib import ExitStack
from pathlib import Path
from typing import Self

# httpx would import it for the first connection, in the thread beside the training, and the training would wait for the interpreter.
import httpcore  # noqa: F401

from muster.embedded import EmbeddedServer, resolve_suite, start
from muster.niceness import lower
from muster_client import Client, Retry, SuiteLike

logger = logging.getLogger("muster")

PATIENCE_SECONDS = 5.0
"""Seconds for which one request waits for a server. The evaluator then tries again, and can be closed in between."""
POOL_MAX = "MUSTER_POOL__MAX"
NICENESS = 10
"""The niceness of the trainer's own server and its sandboxes. If one of them and the training want the same processor, it gets a tenth of
the training's share.
"""


class Connection:
    """A connection that is opened when it is first needed, in the thread that needs it."""

    def __init__(self, server: str | None, token: str | None, directory: Path) -> None:
        self._server = server or os.environ.get("MUSTER_URL") or None
        self._token, self._directory = token, directory
        self._open = ExitStack()
        self._client: Client | None = None
        self._own: EmbeddedServer | None = None
        self._is_lowered = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @property
    def address(self) -> str | None:
        """The address of a server that outlives the training; None for the trainer's own."""
        return None if self._server is None else self._server.rstrip("/")

    def suite(self, suite: SuiteLike) -> SuiteLike:
        """Returns the suite in the form that the server accepts. The trainer's own server reads modules beside the suite's file."""
        return suite if self._server else resolve_suite(suite)

    def client(self) -> Client:
        """Returns a client. Call it for each use. @raises MusterError when there is no server and none can be started."""
        if self._own is not None and not self._own.is_running:
            # The server has crashed. The next one continues from the stored state.
            self._open.close()
            self._client = self._own = None
        if self._client is None:
            retry = Retry(patience_seconds=PATIENCE_SECONDS)
            if self._server:
                self._client = self._open.enter_context(Client(self._server, token=self._token, retry=retry))
            else:
                self._own = self._open.enter_context(start(state=self._directory / "server"))
                self._client = self._open.enter_context(self._own.client(retry=retry))
                _leave_one_processor(self._client)
        self._lower_priority()
        return self._client

    def _lower_priority(self) -> None:
        """Lowers the priority of the trainer's own server, once it listens, and of the sandboxes that it has started since."""
        if self._own is None or not self._is_lowered:
            return
        try:
            lower(self._own.pid, NICENESS)
        except OSError as error:
            self._is_lowered = False
            logger.warning("evaluations have the priority of the training, which may be slower: %s", error)


def _leave_one_processor(client: Client) -> None:
    """Leaves a processor to the training, unless the user sets the number of sandboxes: otherwise its own server has a sandbox for each
    processor.
    """
    if POOL_MAX in os.environ:
        return
    for pool in client.pools():
        if pool.max > 1:
            client.change_pool(pool.name, max=pool.max - 1)

"""The server that evaluates: one that is named, or one of the trainer's own."""

import os
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from muster.embedded import own_suite, start
from muster_client import Client, Retry, SuiteLike

PATIENCE_SECONDS = 5.0
"""That one request waits for a server. The evaluator goes on trying, and can be closed in between."""
NICENESS = 10
"""Of a server of the trainer's own and its sandboxes: where processors are short, the training has nine tenths of them."""


class Connection:
    """Opened when it is first needed, in the thread that needs it."""

    def __init__(self, server: str | None, token: str | None, directory: Path) -> None:
        self._server = server or os.environ.get("MUSTER_URL")
        self._token, self._directory = token, directory
        self._open = ExitStack()
        self._client: Client | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def suite(self, suite: SuiteLike) -> SuiteLike:
        """As the server takes it: one of the trainer's own reads modules where the suite's file has them."""
        return suite if self._server else own_suite(suite)

    def client(self) -> Client:
        """@raises MusterError when there is no server and none can be started."""
        if self._client is None:
            retry = Retry(patience_seconds=PATIENCE_SECONDS)
            if self._server:
                self._client = self._open.enter_context(Client(self._server, token=self._token, retry=retry))
            else:
                own = self._open.enter_context(start(state=self._directory / "server"))
                # What it starts from now on has the same.
                os.setpriority(os.PRIO_PROCESS, own.pid, NICENESS)
                self._client = self._open.enter_context(own.client(retry=retry))
        return self._client

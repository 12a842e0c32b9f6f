"""The server that evaluates: one that is named, or one of the trainer's own."""

import os
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from muster_client import Client, InvalidArgument, Retry

PATIENCE_SECONDS = 5.0
"""That one request waits for a server. The evaluator goes on trying, and can be closed in between."""


class Connection:
    """Opened when it is first needed, in the thread that needs it."""

    def __init__(self, server: str | None, token: str | None, directory: Path) -> None:
        self._server = server or os.environ.get("MUSTER_URL")
        if not self._server:
            raise InvalidArgument("server: expected the address of a Muster server; give it, or set MUSTER_URL")
        self._token, self._directory = token, directory
        self._open = ExitStack()
        self._client: Client | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def client(self) -> Client:
        """@raises MusterError when there is no server and none can be started."""
        if self._client is None:
            retry = Retry(patience_seconds=PATIENCE_SECONDS)
            self._client = self._open.enter_context(Client(self._server, token=self._token, retry=retry))
        return self._client

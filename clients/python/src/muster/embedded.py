"""Runs a server for the calling process. The first call starts it, further calls reuse it, and it ends with the process.

The server is a child that listens on loopback and accepts one token. It ends when the pipe to its standard input is closed, which the
kernel does when this process ends in any way.
"""

import atexit
import os
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, Unpack, overload

from muster.server_process import ServerNotStarted, ServerProcess
from muster_client.arguments import suggests_keywords
from muster_client.checkpoint import CheckpointLike
from muster_client.client import Client
from muster_client.progress import Progress
from muster_client.submission import ComparisonOptions, EvaluationOptions
from muster_client.suite import FILE_ENDINGS, SuiteLike, build_suite_reference
from muster_client.summary import ComparisonSummary, Summary

__all__ = ["EmbeddedServer", "ServerNotStarted", "compare", "evaluate", "serve", "shared", "start"]

START_SECONDS = 60.0


class EmbeddedServer:
    """A server that this process has started. It ends with the `with` block, or with the process."""

    def __init__(self, process: ServerProcess) -> None:
        self._process = process

    def __repr__(self) -> str:
        return f"EmbeddedServer({self.url!r})"

    @property
    def url(self) -> str:
        """The address, such as `http://127.0.0.1:41234`."""
        return self._process.url

    @property
    def token(self) -> str:
        """The only token that the server accepts."""
        return self._process.token

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether the server runs. False after `close`, after a crash, and in a forked child, which does not own the server."""
        return self._process.is_running

    def client(self, **options: Any) -> Client:
        """Returns a client of this server. @param options: options of `Client`."""
        return Client(self.url, token=self.token, **options)

    def close(self) -> None:
        """Ends the server. Unfinished evaluations are kept if it has a state directory."""
        self._process.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


_servers: "weakref.WeakSet[EmbeddedServer]" = weakref.WeakSet()
_shared: EmbeddedServer | None = None
_turn = threading.RLock()


def start(
    *,
    state: str | os.PathLike[str] | None = None,
    config: str | os.PathLike[str] | None = None,
    sandboxes: int | None = None,
    timeout: float = START_SECONDS,
) -> EmbeddedServer:
    """Starts a server for this process.

    @param state: directory that keeps evaluations and checkpoints: a later server with the same directory goes on with what was
        accepted, one server at a time. None: evaluations are kept as long as the server runs, checkpoints where `muster eval` keeps them.
    @param config: YAML file of settings, as `muster serve --config` takes it.
    @param sandboxes: most sandboxes at a time, in place of the configuration's.
    @param timeout: seconds until it has to listen.
    Raises ServerNotStarted, with what the server said; muster.command.ProgramMissing.
    """
    server = EmbeddedServer(ServerProcess.start(_parse_path(state), _parse_path(config), sandboxes, timeout))
    _servers.add(server)
    return server


@suggests_keywords
def serve(
    *,
    state: str | os.PathLike[str] | None = None,
    config: str | os.PathLike[str] | None = None,
    sandboxes: int | None = None,
    timeout: float = START_SECONDS,
) -> EmbeddedServer:
    """Does the same as `start`, for `with muster.serve() as server:`."""
    return start(state=state, config=config, sandboxes=sandboxes, timeout=timeout)


def shared() -> EmbeddedServer:
    """Returns the server that all calls of this process share. Starts it if there is none, or if it has ended. Raises as `start` does."""
    global _shared
    with _turn:
        if _shared is None or not _shared.is_running:
            if _shared is not None:
                _shared.close()
            _shared = start()
        return _shared


@overload
def evaluate(
    checkpoint: CheckpointLike,
    suite: SuiteLike,
    *,
    baseline: None = None,
    timeout: float | None = None,
    progress: Progress = "auto",
    **options: Unpack[EvaluationOptions],
) -> Summary: ...


@overload
def evaluate(
    checkpoint: CheckpointLike,
    suite: SuiteLike,
    *,
    baseline: CheckpointLike,
    timeout: float | None = None,
    progress: Progress = "auto",
    **options: Unpack[EvaluationOptions],
) -> ComparisonSummary: ...


@suggests_keywords
def evaluate(
    checkpoint: CheckpointLike,
    suite: SuiteLike,
    *,
    baseline: CheckpointLike | None = None,
    timeout: float | None = None,
    progress: Progress = "auto",
    **options: Unpack[EvaluationOptions],
) -> Summary | ComparisonSummary:
    """Evaluates a checkpoint on a suite on this machine, waits, and returns the answer; with a baseline, the comparison with it.

    @param checkpoint: path of a file or directory, URI, SHA-256 or `Checkpoint`.
    @param suite: path of a YAML or JSON file, or the suite as a mapping. Modules that it brings (`files`) are found beside its file.
    @param timeout: seconds to wait.
    @param progress: `auto` shows a bar in terminals and notebooks; a function is given the figures as they come.
    Returns means and intervals in the units of the environment's return. Raises as `Client.evaluate` does, and ServerNotStarted.
    """
    with shared().client() as client:
        reference = resolve_suite(suite)
        if baseline is None:
            return client.evaluate(checkpoint, reference, timeout=timeout, progress=progress, **options)
        return client.evaluate(checkpoint, reference, baseline=baseline, timeout=timeout, progress=progress, **options)


@suggests_keywords
def compare(
    baseline: CheckpointLike,
    candidates: CheckpointLike | Sequence[CheckpointLike],
    suite: SuiteLike,
    *,
    timeout: float | None = None,
    progress: Progress = "auto",
    **options: Unpack[ComparisonOptions],
) -> ComparisonSummary:
    """Compares candidates with a baseline on the same episodes, waits, and returns the verdicts. Raises as `evaluate` does."""
    with shared().client() as client:
        return client.compare(baseline, candidates, resolve_suite(suite), timeout=timeout, progress=progress, **options)


def resolve_suite(suite: SuiteLike) -> SuiteLike:
    """Returns a suite's file in the form that a server of this process accepts: with absolute paths of its modules."""
    if not isinstance(suite, (str, os.PathLike)):
        return suite
    path = Path(suite)
    if path.suffix not in FILE_ENDINGS:
        return suite
    reference = build_suite_reference(path)
    if isinstance(reference, dict) and isinstance(reference.get("files"), str):
        reference["files"] = str((path.parent / reference["files"]).resolve())
    return reference


def _parse_path(given: str | os.PathLike[str] | None) -> Path | None:
    return None if given is None else Path(given).absolute()


def _close_all() -> None:
    for server in list(_servers):
        server.close()


def _leave_to_parent() -> None:
    """Closes the pipes in a forked child: the parent owns the servers."""
    global _shared, _turn
    _turn = threading.RLock()
    _shared = None
    for server in list(_servers):
        server._process.leave_to_parent()
    _servers.clear()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_leave_to_parent)

"""The process of a server that this process has started, and the pipe that keeps it alive."""

import contextlib
import json
import os
import selectors
import subprocess
import time
from pathlib import Path
from typing import IO, Any

from muster.command import muster_command, muster_environment
from muster.state import OwnDirectory
from muster_client.errors import MusterError

CLOSE_SECONDS = 20.0
"""Seconds for the server to end its sandboxes and release its resources. Then it is killed, and its sandboxes end with it."""
READY_BYTES = 64 * 1024
LOG_BYTES = 4000


class ServerNotStarted(MusterError):
    """A server that did not begin to listen. The message has the end of its output."""


class ServerProcess:
    def __init__(self, process: "subprocess.Popen[bytes]", ready: dict[str, str], directory: OwnDirectory | None) -> None:
        self._process = process
        self._directory = directory
        self._is_own = True
        self.url = ready["url"]
        self.token = ready["token"]

    @classmethod
    def start(cls, state: Path | None, config: Path | None, sandboxes: int | None, timeout: float) -> "ServerProcess":
        """Starts a server, and waits until it listens. Raises ServerNotStarted."""
        environment = muster_environment()
        directory = None
        if state is None:
            directory = OwnDirectory()
            place = directory.path
            environment["MUSTER_STORE__URL"] = str(place / "muster.db")
        else:
            place = state
            place.mkdir(parents=True, exist_ok=True)
            environment["MUSTER_STATE_DIR"] = str(place)
        if sandboxes is not None:
            environment["MUSTER_POOL__MAX"] = str(sandboxes)
        command = [*muster_command(), "serve", "--child", *([] if config is None else ["--config", str(config)])]
        log = place / "server.log"
        with log.open("wb") as stderr:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env=environment,
                # Ctrl-C in a terminal is for the program in the foreground, which decides when its server ends.
                start_new_session=True,
                pass_fds=() if directory is None else (directory.lock,),
            )
        try:
            return cls(process, _wait_until_ready(process, log, timeout), directory)
        except BaseException:
            process.kill()
            _reap(process)
            if directory is not None:
                directory.remove()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._is_own and self._process.poll() is None

    def close(self) -> None:
        """Ends the server, and waits for its end."""
        if not self._is_own:
            return
        self._is_own = False
        _stdin(self._process).close()
        try:
            self._process.wait(CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
        _reap(self._process)
        if self._directory is not None:
            self._directory.remove()

    def leave_to_parent(self) -> None:
        """Closes this process's copies of the pipes and the lock after a fork, because the parent owns the server."""
        self._is_own = False
        # The streams have no unflushed output, and this process must not wait for the parent's child.
        _close(self._process.stdin, self._process.stdout)
        self._process.returncode = 0
        if self._directory is not None:
            self._directory.release()


def _wait_until_ready(process: "subprocess.Popen[bytes]", log: Path, timeout: float) -> dict[str, str]:
    """Returns the fields of the line with which the server reports that it listens."""
    line = _read_first_line(process, time.monotonic() + timeout)
    if line is None:
        how = "ended" if process.poll() is not None or _wait_for_end(process) else f"did not listen within {timeout:g} s"
        raise ServerNotStarted(f"the server {how}:\n{_end_of(log)}")
    try:
        ready: Any = json.loads(line)
        return {"url": str(ready["url"]), "token": str(ready["token"])}
    except (ValueError, KeyError, TypeError) as error:
        raise ServerNotStarted(f"the server said {line[:200]!r}, expected a line of JSON with url and token") from error


def _read_first_line(process: "subprocess.Popen[bytes]", deadline: float) -> bytes | None:
    """Returns the first line; None when it was not complete before the deadline, or before the server ended."""
    assert process.stdout is not None
    received = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while b"\n" not in received and len(received) < READY_BYTES:
            if not selector.select(max(0.0, deadline - time.monotonic())):
                return None
            chunk = os.read(process.stdout.fileno(), READY_BYTES)
            if not chunk:
                return None
            received += chunk
    return received.split(b"\n")[0]


def _wait_for_end(process: "subprocess.Popen[bytes]") -> bool:
    try:
        process.wait(1)
    except subprocess.TimeoutExpired:
        return False
    return True


def _end_of(log: Path) -> str:
    return log.read_bytes()[-LOG_BYTES:].decode(errors="replace").strip() or "it said nothing"


def _reap(process: "subprocess.Popen[bytes]") -> None:
    process.wait()
    _close(process.stdin, process.stdout)


def _stdin(process: "subprocess.Popen[bytes]") -> IO[bytes]:
    assert process.stdin is not None
    return process.stdin


def _close(*streams: IO[bytes] | None) -> None:
    for stream in streams:
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()

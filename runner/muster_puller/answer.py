"""Sends one HTTP request for a file, and reads the answer."""

import http.client
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import SplitResult, urlsplit

from muster_puller.failure import PullError

# Seconds without a byte after which the connection is closed.
STALL_SECONDS = 30.0
_CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")
_SAID_BYTES = 300


class Broken(Exception):
    """The connection or the server failed. Another attempt may help."""

    def __init__(self, message: str, asked_seconds: float = 0.0) -> None:
        super().__init__(message)
        self.asked_seconds = asked_seconds


class Answer:
    """The head of an answer, and its body as it arrives."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self._response = response
        self.status = response.status

    def header(self, name: str) -> str | None:
        return self._response.getheader(name)

    @property
    def length(self) -> int | None:
        """Returns the number of bytes of the body, if the server states it."""
        said = self.header("Content-Length")
        return int(said) if said is not None and said.isdecimal() else None

    @property
    def range(self) -> tuple[int, int] | None:
        """Returns the position of the body in the whole file, and the file's size."""
        found = _CONTENT_RANGE.fullmatch(self.header("Content-Range") or "")
        return (int(found[1]), int(found[3])) if found else None

    def pieces(self, buffer: memoryview) -> Iterator[memoryview]:
        """Yields pieces of the body, each valid until the next one is read. @raises Broken when bytes are missing at the end."""
        came = 0
        while count := self._read_into(buffer):
            came += count
            yield buffer[:count]
        if self.length is not None and came < self.length:
            raise Broken(f"the connection ended after {came} of {self.length} bytes")

    def _read_into(self, buffer: memoryview) -> int:
        try:
            return self._response.readinto(buffer)
        except (OSError, http.client.HTTPException) as error:
            raise Broken(f"the connection broke: {error or type(error).__name__}") from error

    def said(self) -> str:
        """Returns the server's explanation of a refusal, for people."""
        try:
            return self._response.read(_SAID_BYTES).decode("utf-8", "replace").strip()
        except (OSError, http.client.HTTPException):
            return ""


@contextmanager
def request_answer(url: str, headers: Mapping[str, str], seconds: float) -> Iterator[Answer]:
    """Sends a GET request. @raises Broken when another attempt may help; PullError `refused`, `url` when none will."""
    parts = _split(url)
    connection = _connect(parts, min(STALL_SECONDS, max(0.1, seconds)))
    try:
        target = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
        try:
            connection.request("GET", target, headers={"Accept-Encoding": "identity", **headers})
            response = connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            raise Broken(f"{parts.hostname}:{parts.port or parts.scheme} cannot be reached: {error or type(error).__name__}") from error
        with response:  # The connection forgets a response that ends it, and leaves its socket open.
            answer = Answer(response)
            _assert_given(answer)
            yield answer
    finally:
        connection.close()


def _assert_given(answer: Answer) -> None:
    status = answer.status
    if status in (200, 206, 226):
        return
    problem = f"the server answered {status} {answer.said()}".rstrip()
    if status in (408, 425, 429) or status >= 500:
        raise Broken(problem, _retry_after(answer))
    raise PullError("refused", problem)


def _retry_after(answer: Answer) -> float:
    said = answer.header("Retry-After") or ""
    return min(STALL_SECONDS, float(said)) if said.isdecimal() else 0.0


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise PullError("url", f"the address of the file is not a URL: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise PullError("url", f"a URL of the scheme {parts.scheme!r} is not fetched from; expected https: or http: and a host")
    return parts


def _connect(parts: SplitResult, timeout: float) -> http.client.HTTPConnection:
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    return kind(parts.hostname or "", parts.port, timeout=timeout)

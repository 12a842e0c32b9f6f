"""Splits bytes into server-sent events and lines as they arrive.

Only a line feed ends a line; a carriage return before it is removed. Python's own splitting also ends a line at U+2028, which JSON strings
may contain.
"""

from muster_client.errors import ServerError

MOST_BYTES_OF_LINE = 16 * 2**20
"""Far more than an event or an episode has. Muster sends no longer line, and it must not fill the memory."""


class LineDecoder:
    """Yields lines without their ends. Text after the last end is kept for later."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> list[bytes]:
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        if len(self._rest) > MOST_BYTES_OF_LINE:
            raise ServerError(f"the server sent a line of more than {MOST_BYTES_OF_LINE} bytes; expected an event or an episode")
        return [line.removesuffix(b"\r") for line in lines]


class EventDecoder:
    """Yields the data of server-sent events, which contains their names and ids. An event that a broken connection cuts off is dropped."""

    def __init__(self) -> None:
        self._lines = LineDecoder()
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        return [data for line in self._lines.feed(chunk) if (data := self._take(line)) is not None]

    def _take(self, line: bytes) -> bytes | None:
        if line == b"":
            data = b"\n".join(self._data) if self._data else None
            self._data = []
            return data
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
        return None

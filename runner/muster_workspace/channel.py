"""The connection to Muster: one JSON object in each line, in both directions."""

import json
import os
from base64 import b64encode
from typing import Any, Self

MAX_LINE_BYTES = 1 << 20
"""Most bytes of a line in either direction, without the line feed."""
DATA_BYTES = 384 * 1024
"""Most bytes of data in one frame, before they are encoded."""

_READ_BYTES = 1 << 17
_KEPT_BYTES = 1 << 16
_encode = json.JSONEncoder(separators=(",", ":")).encode


class ProtocolError(Exception):
    """A frame that Muster never should send, or the loss of the connection to Muster."""


class Channel:
    """Receives and sends frames."""

    def __init__(self, source: int, sink: int) -> None:
        self.source = source
        self._sink = sink
        self._buffer = bytearray()
        self._searched = 0
        self._unsent = bytearray()

    @classmethod
    def take(cls) -> Self:
        """Takes over the standard input and output, so that no process that this one starts can use them."""
        source, sink, null = os.dup(0), os.dup(1), os.open("/dev/null", os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(2, 1)
        os.close(null)
        return cls(source, sink)

    def receive(self) -> dict[str, Any] | None:
        """Waits for the next frame. Returns None once Muster has closed its side."""
        while (frame := self.pending()) is None:
            if not self.fill():
                if self._buffer:
                    raise ProtocolError("a line that is cut off")
                return None
        return frame

    def fill(self) -> bool:
        """Reads what has arrived, or waits for it. Returns False once Muster has closed its side."""
        self.flush()
        data = os.read(self.source, _READ_BYTES)
        self._buffer += data
        return bool(data)

    def pending(self) -> dict[str, Any] | None:
        """Returns the next frame, if all of it has been read."""
        end = self._buffer.find(b"\n", self._searched)
        self._searched = len(self._buffer)
        if end == -1 and len(self._buffer) <= MAX_LINE_BYTES:
            return None
        if end == -1 or end > MAX_LINE_BYTES:
            raise ProtocolError("a line that is too long")
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        self._searched = 0
        try:
            frame = json.loads(line)
        except ValueError as error:
            raise ProtocolError(f"a line that is not JSON: {error}") from error
        if not isinstance(frame, dict):
            raise ProtocolError("a line that is not a JSON object")
        return frame

    def send(self, frame: dict[str, Any]) -> None:
        """Buffers a frame, which is sent with those that follow it. Call `flush` before any wait."""
        self._unsent += _encode(frame).encode("ascii") + b"\n"
        if len(self._unsent) >= _KEPT_BYTES:
            self.flush()

    def flush(self) -> None:
        """Sends the buffered frames together, because each write wakes Muster."""
        if not self._unsent:
            return
        with memoryview(self._unsent) as unsent:
            start = 0
            while start < len(unsent):
                start += os.write(self._sink, unsent[start:])
        self._unsent.clear()

    def send_data(self, frame: dict[str, Any], data: bytes | bytearray) -> None:
        """Sends bytes in as many frames as they need; no frame for no bytes."""
        for start in range(0, len(data), DATA_BYTES):
            self.send({**frame, "data": b64encode(data[start : start + DATA_BYTES]).decode("ascii")})

"""The line to Muster: one JSON object a line, in both directions."""

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
    """Muster sent what it never should have sent, or is gone."""


class Channel:
    """Frames in and out."""

    def __init__(self, source: int, sink: int) -> None:
        self.source = source
        self._sink = sink
        self._buffer = bytearray()
        self._searched = 0
        self._unsent = bytearray()

    @classmethod
    def take(cls) -> Self:
        """Take the standard input and output away from everything that this process starts."""
        source, sink, null = os.dup(0), os.dup(1), os.open("/dev/null", os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(2, 1)
        os.close(null)
        return cls(source, sink)

    def receive(self) -> dict[str, Any] | None:
        """Wait for the next frame; None once Muster has ended its side."""
        while (frame := self.pending()) is None:
            if not self.fill():
                if self._buffer:
                    raise ProtocolError("a line that is cut off")
                return None
        return frame

    def fill(self) -> bool:
        """Read what is there, or wait for something. False once Muster has ended its side."""
        self.flush()
        data = os.read(self.source, _READ_BYTES)
        self._buffer += data
        return bool(data)

    def pending(self) -> dict[str, Any] | None:
        """The next frame, if all of it has been read."""
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
        """Send a frame, with those that follow it. What waits for Muster's answer, or for anything else, flushes first."""
        self._unsent += _encode(frame).encode("ascii") + b"\n"
        if len(self._unsent) >= _KEPT_BYTES:
            self.flush()

    def flush(self) -> None:
        """Send what has been kept: each write wakes Muster."""
        if not self._unsent:
            return
        with memoryview(self._unsent) as unsent:
            start = 0
            while start < len(unsent):
                start += os.write(self._sink, unsent[start:])
        self._unsent.clear()

    def send_data(self, frame: dict[str, Any], data: bytes | bytearray) -> None:
        """Send bytes in as many frames as it takes; none for no bytes."""
        for start in range(0, len(data), DATA_BYTES):
            self.send({**frame, "data": b64encode(data[start : start + DATA_BYTES]).decode("ascii")})

"""Messages between tests and candidate: a length of four bytes, then JSON."""

from __future__ import annotations

import json
import socket
import struct
from typing import Any

Message = dict[str, Any]

MAX_BYTES = 16 * 1024 * 1024
"""Largest message, in bytes."""
DESCRIPTOR = 3
"""File descriptor of the socket that both programs inherit."""
_LENGTH = struct.Struct(">I")


class LineClosed(Exception):
    """The other side has ended, or sent an invalid message."""


class TooLarge(Exception):
    """A message was not sent, because it has too many bytes."""


class Line:
    """One end of the connection."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    @classmethod
    def inherited(cls) -> Line:
        """Takes the end that this program was started with, and hides it from processes that it starts."""
        end = socket.socket(fileno=DESCRIPTOR)
        end.set_inheritable(False)
        return cls(end)

    def send(self, message: Message) -> None:
        """Sends a message. Raises TooLarge and LineClosed."""
        data = json.dumps(message, separators=(",", ":")).encode("ascii")
        if len(data) > MAX_BYTES:
            raise TooLarge(f"a message has {len(data)} bytes; expected at most {MAX_BYTES}")
        try:
            self._end.sendall(_LENGTH.pack(len(data)) + data)
        except OSError as error:
            raise LineClosed(f"it has ended ({error.strerror})") from error

    def receive(self) -> Message:
        """Waits for the next message. Raises LineClosed."""
        (length,) = _LENGTH.unpack(self._read(_LENGTH.size))
        if length > MAX_BYTES:
            raise LineClosed(f"it sent a message of {length} bytes; expected at most {MAX_BYTES}")
        try:
            message = json.loads(self._read(length))
        except (ValueError, RecursionError) as error:
            raise LineClosed("it sent invalid JSON") from error
        if not isinstance(message, dict):
            raise LineClosed("it sent JSON that is not an object")
        return message

    def _read(self, count: int) -> bytes:
        parts = []
        while count > 0:
            try:
                part = self._end.recv(min(count, 1 << 20))
            except OSError as error:
                raise LineClosed(f"it has ended ({error.strerror})") from error
            if not part:
                raise LineClosed("it has ended")
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

"""The frames between relay and Muster: a connection (4 bytes), a kind (1 byte), a length (4 bytes) and a body."""

from collections.abc import Iterator
from enum import IntEnum
from struct import Struct
from typing import NamedTuple

_HEADER = Struct(">IBI")
_CREDIT = Struct(">I")
# For each connection and direction: bytes that may be sent before the other side has received them.
WINDOW_BYTES = 256 * 1024


class Kind(IntEnum):
    """The kind of a frame."""

    OPEN = 0
    DATA = 1
    END = 2
    RESET = 3
    CREDIT = 4
    UNSTARTABLE = 5


class Frame(NamedTuple):
    """One message of one connection."""

    connection: int
    kind: Kind
    body: bytes = b""

    def pack(self) -> bytes:
        """In the form in which it is sent."""
        return _HEADER.pack(self.connection, self.kind, len(self.body)) + self.body


def credit(connection: int, taken: int) -> Frame:
    """Grants this many more bytes."""
    return Frame(connection, Kind.CREDIT, _CREDIT.pack(taken))


def credited(frame: Frame) -> int:
    """How many bytes more may be sent."""
    return int(_CREDIT.unpack(frame.body)[0])


class FrameReader:
    """Cuts what comes over the line into frames."""

    def __init__(self) -> None:
        self._received = bytearray()

    def push(self, data: bytes) -> Iterator[Frame]:
        """The frames that are whole with this."""
        self._received += data
        while len(self._received) >= _HEADER.size:
            connection, kind, length = _HEADER.unpack_from(self._received)
            end = _HEADER.size + length
            if len(self._received) < end:
                return
            body = bytes(self._received[_HEADER.size : end])
            del self._received[:end]
            yield Frame(connection, Kind(kind), body)

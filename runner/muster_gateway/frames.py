"""The frames between relay and Muster: a connection (4 bytes), a kind (1 byte), a length (4 bytes) and a body."""

from collections.abc import Iterator
from enum import IntEnum
from struct import Struct
from typing import NamedTuple

_HEADER = Struct(">IBI")
_CREDIT = Struct(">I")
# Bytes that may be sent, for each connection and direction, before the other side confirms that it has received them.
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
        """Encodes the frame."""
        return _HEADER.pack(self.connection, self.kind, len(self.body)) + self.body


def build_credit(connection: int, taken: int) -> Frame:
    """Builds a frame that lets the other side send this many more bytes."""
    return Frame(connection, Kind.CREDIT, _CREDIT.pack(taken))


def read_credit(frame: Frame) -> int:
    """Returns the number of bytes that a CREDIT frame grants."""
    return int(_CREDIT.unpack(frame.body)[0])


class FrameReader:
    """Splits a byte stream into frames."""

    def __init__(self) -> None:
        self._received = bytearray()

    def push(self, data: bytes) -> Iterator[Frame]:
        """Yields the frames that these bytes complete."""
        self._received += data
        while len(self._received) >= _HEADER.size:
            connection, kind, length = _HEADER.unpack_from(self._received)
            end = _HEADER.size + length
            if len(self._received) < end:
                return
            body = bytes(self._received[_HEADER.size : end])
            del self._received[:end]
            yield Frame(connection, Kind(kind), body)

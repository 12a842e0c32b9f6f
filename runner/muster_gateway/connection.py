"""One connection of the program to the port of the relay."""

import selectors
import socket

from muster_gateway.frames import WINDOW_BYTES, Frame, Kind, build_credit

_READ_BYTES = 1 << 16


class Connection:
    """Forwards what the program sends while Muster grants credit for it. Buffers what cannot be written yet: no more than was granted."""

    def __init__(self, number: int, accepted: socket.socket) -> None:
        accepted.setblocking(False)
        self.number = number
        self.socket = accepted
        self.credit = WINDOW_BYTES
        """Bytes that may still be sent to Muster."""
        self.is_over = False
        self.is_watched = True
        self._unwritten = bytearray()
        self._is_read = False
        self._is_ended = False

    def wanted(self, may_read: bool) -> int:
        """Returns the selector's events to wait for."""
        reads = may_read and not self._is_read and self.credit > 0
        return (selectors.EVENT_READ if reads else 0) | (selectors.EVENT_WRITE if self._unwritten else 0)

    def attend(self, events: int) -> list[Frame]:
        """Reads and writes as much as possible. Returns the messages for Muster."""
        frames: list[Frame] = []
        if events & selectors.EVENT_READ:
            frames += self._read()
        if events & selectors.EVENT_WRITE:
            frames += self._write()
        return frames

    def take(self, data: bytes) -> list[Frame]:
        """Writes Muster's data, or keeps it until that is possible."""
        self._unwritten += data
        if len(self._unwritten) > WINDOW_BYTES:
            return self._broken()
        return self._write()

    def end(self) -> None:
        """Notes that Muster has sent everything."""
        self._is_ended = True
        self._finish()

    def _read(self) -> list[Frame]:
        try:
            data = self.socket.recv(min(_READ_BYTES, self.credit))
        except BlockingIOError:
            return []
        except OSError:
            return self._broken()
        if not data:
            self._is_read = True
            self._finish()
            return [Frame(self.number, Kind.END)]
        self.credit -= len(data)
        return [Frame(self.number, Kind.DATA, data)]

    def _write(self) -> list[Frame]:
        written = 0
        try:
            while self._unwritten:
                sent = self.socket.send(self._unwritten[:_READ_BYTES])
                del self._unwritten[:sent]
                written += sent
        except BlockingIOError:
            pass
        except OSError:
            return self._broken()
        self._finish()
        return [build_credit(self.number, written)] if written else []

    def _finish(self) -> None:
        if not self._is_ended or self._unwritten:
            return
        if self._is_read:
            self.is_over = True
            return
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            self.is_over = True

    def _broken(self) -> list[Frame]:
        self.is_over = True
        return [Frame(self.number, Kind.RESET)]

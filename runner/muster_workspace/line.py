"""Carries messages between descriptor 3 of a command and Muster while the command runs."""

import os
import selectors
import socket

from muster_workspace import fields
from muster_workspace.channel import Channel, ProtocolError

_READ_BYTES = 1 << 16


class Line:
    """The connection of one command. Muster sends one message of the other side at a time, which bounds the buffer."""

    def __init__(self, channel: Channel, request: int, descriptor: int) -> None:
        self._channel = channel
        self._request = request
        self._descriptor = descriptor
        self._waiting = bytearray()
        self._ends = False
        self._is_open = True
        self.seconds: float | None = None
        """Seconds for which the command may still run after Muster has closed the connection."""

    def register(self, selector: selectors.BaseSelector) -> None:
        """Registers both ends, and carries what arrived with the command."""
        selector.register(self._descriptor, selectors.EVENT_READ, self)
        selector.register(self._channel.source, selectors.EVENT_READ, self)
        self._take()
        self._watch(selector)

    def attend(self, descriptor: int, events: int, selector: selectors.BaseSelector) -> None:
        """Carries what is ready."""
        if descriptor == self._channel.source:
            if not self._channel.fill():
                raise ProtocolError("Muster is gone while a command runs")
            self._take()
        elif events & selectors.EVENT_READ:
            self._read(selector)
        self._write()
        self._watch(selector)

    def _take(self) -> None:
        while (frame := self._channel.pending()) is not None:
            if fields.whole(frame, "request") != self._request:
                continue
            if fields.text(frame, "type") == "line":
                self._waiting += fields.data(frame, "data")
            elif fields.text(frame, "type") == "hangup":
                self._ends = True
                self.seconds = fields.number(frame, "seconds") if frame.get("seconds") is not None else None
            else:
                raise ProtocolError(f"a frame of type {frame['type']!r} while a command runs")

    def _read(self, selector: selectors.BaseSelector) -> None:
        try:
            data = os.read(self._descriptor, _READ_BYTES)
        except BlockingIOError:
            return
        except ConnectionError:
            data = b""
        if data:
            self._channel.send_data({"type": "line", "request": self._request}, data)
            self._channel.flush()
        else:
            self._close(selector)

    def _write(self) -> None:
        try:
            while self._waiting and self._is_open:
                del self._waiting[: os.write(self._descriptor, self._waiting[:_READ_BYTES])]
        except BlockingIOError:
            return
        except (BrokenPipeError, ConnectionError):
            self._waiting.clear()

    def _watch(self, selector: selectors.BaseSelector) -> None:
        if not self._is_open:
            return
        if self._ends and not self._waiting:
            self._ends = False
            with socket.socket(fileno=os.dup(self._descriptor)) as end:
                end.shutdown(socket.SHUT_WR)
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._waiting else 0)
        selector.modify(self._descriptor, events, self)

    def _close(self, selector: selectors.BaseSelector) -> None:
        self._is_open = False
        selector.unregister(self._descriptor)

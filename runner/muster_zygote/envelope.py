"""Messages between the warden and its images: small JSON objects with descriptors, on a socket that preserves message boundaries."""

import json
import os
import socket
from array import array
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

MAX_BYTES = 64 * 1024
MAX_DESCRIPTORS = 16

Message = dict[str, Any]


def receive(channel: socket.socket) -> tuple[Message, list[int]] | None:
    """Returns the next message with its descriptors; None when the other side is gone."""
    data, descriptors, _flags, _address = socket.recv_fds(channel, MAX_BYTES, MAX_DESCRIPTORS)
    if not data:
        return None
    message: Message = json.loads(data)
    return message, descriptors


def send(channel: socket.socket, message: Message, descriptors: Sequence[int] = (), flags: int = 0) -> None:
    """Sends a message. @param flags: the MSG_… flags of send(2)."""
    # socket.send_fds is not used, because it ignores its flags in Python 3.11.
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", descriptors))] if descriptors else []
    channel.sendmsg([json.dumps(message).encode()], rights, flags)


def fits(message: Message) -> bool:
    """Returns whether the message is small enough to be received whole."""
    return len(json.dumps(message).encode()) <= MAX_BYTES


def close_all(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


@dataclass
class Outbox:
    """Sends without ever waiting for the other side, which may itself be waiting to send.

    It holds at most one message for each sandbox, so the number of sandboxes bounds it. It closes descriptors after they are sent.
    """

    channel: socket.socket
    _waiting: deque[tuple[Message, list[int]]] = field(default_factory=deque)

    @property
    def is_empty(self) -> bool:
        return not self._waiting

    def put(self, message: Message, descriptors: list[int]) -> None:
        self._waiting.append((message, descriptors))

    def flush(self) -> bool:
        """Sends as much as possible. @returns whether everything is sent."""
        while self._waiting:
            message, descriptors = self._waiting[0]
            try:
                send(self.channel, message, descriptors, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return False
            self._waiting.popleft()
            close_all(descriptors)
        return True

    def close(self) -> None:
        """Closes the channel, and the descriptors of unsent messages."""
        self.channel.close()
        while self._waiting:
            close_all(self._waiting.popleft()[1])

"""The warden's conversation with Muster: lines of JSON on its standard input and output."""

import json
import os

from muster_runner.json_fields import Object, parse_object
from muster_zygote.envelope import Message

READ_BYTES = 256 * 1024


class Orders:
    """Takes over descriptors 0 and 1, so that other output goes to the error output."""

    def __init__(self) -> None:
        self.ended = False
        self.descriptor = os.dup(0)
        self._output = os.dup(1)
        self._unfinished = b""
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)

    def first(self) -> Object:
        """Waits for the first order, and reads nothing after it: later orders contain secrets that must not be in the memory of the
        processes that are forked before.

        @raises EOFError when no order comes, FieldError when it is invalid.
        """
        line = bytearray()
        while (byte := os.read(self.descriptor, 1)) != b"\n":
            if not byte:
                self.ended = True
                raise EOFError("the input has ended")
            line += byte
        return parse_object(bytes(line), "the order")

    def arrived(self) -> list[Object]:
        """Returns the orders that one read brings. Call it when there is something to read."""
        chunk = os.read(self.descriptor, READ_BYTES)
        if not chunk:
            self.ended = True
            return []
        *lines, self._unfinished = (self._unfinished + chunk).split(b"\n")
        return [parse_object(line, "the order") for line in lines]

    def send(self, message: Message) -> None:
        """Sends a message. Waits until Muster, which always reads, has room for it."""
        rest = memoryview(json.dumps(message).encode() + b"\n")
        while rest:
            rest = rest[os.write(self._output, rest) :]

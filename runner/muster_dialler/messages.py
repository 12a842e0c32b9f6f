"""The messages between a dialler and Muster (docs/dial-back.md): the first byte gives the type."""

import struct
from dataclasses import dataclass
from enum import IntEnum

from muster_runner.json_fields import FieldError, as_list, as_text, parse_object

PROTOCOL = "v1.dial-back.muster.dev"


class Channel(IntEnum):
    """The type of a message. The numbers of the streams are those of Kubernetes."""

    STDIN = 0
    STDOUT = 1
    STDERR = 2
    STATUS = 3
    CREDIT = 4
    CLOSE = 255


@dataclass(frozen=True)
class Order:
    """The command for this connection, and the token for the next connection; no token when there will be no other connection."""

    command: list[str]
    next_token: str | None


def parse_order(text: bytes) -> Order:
    """Parses an order. @raises FieldError"""
    order = parse_object(text, "the order")
    command = [as_text(word, "command") for word in as_list(order.get("command"), "command")]
    if not command:
        raise FieldError("command is empty")
    following = order.get("next")
    return Order(command, None if following is None else as_text(following, "next"))


def credit_message(stream: Channel, count: int) -> bytes:
    """Builds a message that lets the other side send this many more bytes of the stream."""
    return struct.pack(">BBI", Channel.CREDIT, stream, count)


def parse_credit(payload: bytes) -> tuple[int, int]:
    """@returns the stream and the number of bytes. @raises FieldError"""
    if len(payload) != struct.calcsize(">BI"):
        raise FieldError("a credit has the wrong size")
    stream, count = struct.unpack(">BI", payload)
    return stream, count

"""Answers one message, on either side: carries out the request, and reports the result and the changes of its values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from muster_boundary.line import Message
from muster_boundary.plain import NotPlain, Reader, Value, Writer


def answer_message(
    message: Message,
    refer: Callable[[Any], Value],
    resolve: Callable[[dict[str, Any]], Any],
    act: Callable[[Reader], Any],
    failed: Callable[[BaseException, Writer], dict[str, Any]],
) -> Message:
    """Returns the answer to a message. `act` carries out its request; `failed` writes an exception."""
    known: list[Any] = []
    before: list[Any] = []
    error: BaseException | None = None
    value = None
    try:
        reader = Reader(resolve, message["table"])
        known = reader.objects
        before = Writer(refer, known).known()
        value = act(reader)
    except BaseException as raised:  # The other side receives every exception.
        error = raised
    writer = Writer(refer, known)
    try:
        written = {"value": writer.write(value)} if error is None else {"raised": failed(error, writer)}
        now = writer.known()
    except NotPlain as refusal:
        writer, now = Writer(refer, known), before
        written = {"raised": failed(refusal, writer)}
    changes = {str(number): content for number, content in enumerate(now) if content != before[number]}
    return {**written, "table": writer.table(), "changes": changes}


def write_args(error: BaseException, writer: Writer) -> Value:
    """Writes the arguments of an exception, or its text where they cannot pass."""
    try:
        return writer.write(tuple(error.args))
    except NotPlain:
        return writer.write((str(error),))

"""What a fake server can do in place of answering."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Answer:
    """Said in place of what the server would have said."""

    status: int
    document: dict[str, Any] | None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Drop:
    """The connection breaks before an answer, once so many bytes of the request's body were taken in."""

    after_bytes: int = 0


@dataclass(frozen=True)
class DropAfterWork:
    """What was asked for is done, and the connection breaks before the answer."""


@dataclass(frozen=True)
class CutStream:
    """The connection breaks in the middle of a stream, so many bytes into it."""

    after_bytes: int


@dataclass(frozen=True)
class EndStream:
    """The stream ends in good order before it is complete, as when a server is shut down: after so many items."""

    after_items: int


Fault = Answer | Drop | DropAfterWork | CutStream | EndStream

"""The client's requests to the outside as values. The same generators run on blocking and on asynchronous connections.

A generator yields an effect and is sent its result. It never uses a socket, a file or the clock itself, so each call is defined once, and
can be tested without any of them.
"""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

Reply = TypeVar("Reply")
Result = TypeVar("Result")
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    """The path from the root of the server, with the query."""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    headers: Mapping[str, str]
    """Names are in lower case."""
    body: bytes = b""
    """Empty for a stream that was opened."""


class Effect(Generic[Reply]):
    """An effect, whose result is a `Reply`."""


@dataclass(frozen=True, slots=True)
class Exchange(Effect[Response]):
    """A request and its whole answer. Raises `ServerUnavailable` when the connection fails."""

    request: Request
    answer_seconds: float = 0.0
    """Seconds for an answer that takes long. They replace the client's timeout if that is shorter."""


@dataclass(frozen=True, slots=True)
class Open(Effect[Response]):
    """Opens a stream, in place of the previous one. An unsuccessful answer is read completely, as for `Exchange`."""

    request: Request
    idle_seconds: float
    """Seconds of silence after which the connection counts as broken."""


@dataclass(frozen=True, slots=True)
class Read(Effect[bytes]):
    """The open stream's next data; empty at its end. Raises `ServerUnavailable` when the connection fails."""


@dataclass(frozen=True, slots=True)
class Pause(Effect[None]):
    seconds: float


@dataclass(frozen=True, slots=True)
class Work(Effect[Reply]):
    """Reads files. An asynchronous client does it beside its event loop."""

    call: Callable[[], Reply]


@dataclass(frozen=True, slots=True)
class Emit(Generic[Item]):
    """An item for the consumer."""

    item: Item


Steps = Generator[Effect[Any], Any, Result]
"""A call that returns a `Result`."""

Items = Generator[Effect[Any] | Emit[Item], Any, None]
"""A call that yields items."""


def perform(effect: Effect[Reply]) -> Steps[Reply]:
    reply: Reply = yield effect
    return reply


@dataclass(frozen=True, slots=True)
class Done:
    """The call has ended."""

    value: Any


def resume(steps: Generator[Any, Any, Any], reply: Any = None, error: Exception | None = None) -> Any:
    """Sends a call the result of its last effect (None at first). Returns the next effect, an item, or `Done`."""
    try:
        return steps.send(reply) if error is None else steps.throw(error)
    except StopIteration as end:
        return Done(end.value)


def for_each(items: Items[Item], take: Callable[[Item], None]) -> Steps[None]:
    """Runs an iteration to its end and gives each item to `take`."""
    try:
        step = resume(items)
        while not isinstance(step, Done):
            if isinstance(step, Emit):
                take(step.item)
                step = resume(items)
                continue
            try:
                reply = yield step
            except Exception as error:
                step = resume(items, error=error)
            else:
                step = resume(items, reply)
    finally:
        items.close()

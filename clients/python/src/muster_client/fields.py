"""Reads the server's JSON. A missing or mistyped field is reported with its path; unknown fields are ignored."""

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

from muster_client.errors import ServerError

Value = TypeVar("Value")


class Fields:
    """A JSON object, and its path in the document."""

    def __init__(self, value: Any, path: str) -> None:
        if not isinstance(value, dict):
            raise _unexpected(path, "an object", value)
        self.raw: dict[str, Any] = value
        self._path = path

    def text(self, name: str) -> str:
        return self._read_typed(name, str, "text")

    def flag(self, name: str) -> bool:
        return self._read_typed(name, bool, "true or false")

    def whole(self, name: str) -> int:
        value = self._read_typed(name, int, "a whole number")
        if isinstance(value, bool):
            raise _unexpected(self._at(name), "a whole number", value)
        return value

    def number(self, name: str) -> float:
        value = self.raw.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise _unexpected(self._at(name), "a number", value)
        return float(value)

    def moment(self, name: str) -> datetime:
        text = self.text(name)
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            raise _unexpected(self._at(name), "a time", text) from None

    def optional(self, name: str, read: Callable[[str], Value]) -> Value | None:
        """Returns None for null or a missing field: `fields.optional("mean", fields.number)`."""
        return None if self.raw.get(name) is None else read(name)

    def object(self, name: str) -> "Fields":
        return Fields(self.raw.get(name), self._at(name))

    def objects(self, name: str) -> list["Fields"]:
        return [Fields(item, f"{self._at(name)}[{at}]") for at, item in enumerate(self._list(name))]

    def items(self, name: str) -> list[Any]:
        return self._list(name)

    def texts(self, name: str) -> tuple[str, ...]:
        items = self._list(name)
        if not all(isinstance(item, str) for item in items):
            raise _unexpected(self._at(name), "a list of texts", items)
        return tuple(items)

    def _list(self, name: str) -> list[Any]:
        return self._read_typed(name, list, "a list")

    def _read_typed(self, name: str, kind: type[Value], expected: str) -> Value:
        value = self.raw.get(name)
        if isinstance(value, kind):
            return value
        raise _unexpected(self._at(name), expected, value)

    def _at(self, name: str) -> str:
        return f"{self._path}.{name}"


def parse_fields(text: bytes | str, what: str) -> Fields:
    """Parses a JSON object. Raises `ServerError` when the text is none."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ServerError(f"{what}: the server sent invalid JSON: {error}") from error
    return Fields(value, what)


def _unexpected(path: str, expected: str, value: Any) -> ServerError:
    shown = "nothing" if value is None else repr(value)[:80]
    return ServerError(f"{path}: expected {expected}, and the server sent {shown}; are client and server of the same version?")

"""Writes and reads plain data as JSON: values that both sides can build without code of the other side.

A value that JSON can express is written as it is, any other as an object with one key that names its type. Lists, dicts and other mutable
values are in a table, by number. So a value that occurs twice, or inside itself, does so on the other side, too, and a change names the
value by its number.
"""

from __future__ import annotations

import builtins
import datetime
import decimal
import fractions
import pathlib
import uuid
from base64 import b64decode, b64encode
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

Value = Any
"""A value as a message has it."""
_WIDE = 1 << 63


class NotPlain(Exception):
    """A value cannot pass between the tests and the candidate."""


# How immutable values are written, and built from what was written.
_WRITTEN: dict[type, tuple[str, Callable[[Any], Any]]] = {
    decimal.Decimal: ("decimal.Decimal", str),
    fractions.Fraction: ("fractions.Fraction", lambda value: [hex(value.numerator), hex(value.denominator)]),
    datetime.date: ("datetime.date", lambda value: value.isoformat()),
    datetime.time: ("datetime.time", lambda value: value.isoformat()),
    datetime.datetime: ("datetime.datetime", lambda value: value.isoformat()),
    datetime.timedelta: ("datetime.timedelta", lambda value: [value.days, value.seconds, value.microseconds]),
    uuid.UUID: ("uuid.UUID", str),
    pathlib.PosixPath: ("pathlib.Path", str),
    pathlib.PurePosixPath: ("pathlib.PurePosixPath", str),
    range: ("range", lambda value: [hex(value.start), hex(value.stop), hex(value.step)]),
    complex: ("complex", lambda value: [value.real, value.imag]),
    bytes: ("bytes", lambda value: b64encode(value).decode("ascii")),
}
_MADE: dict[str, Callable[[Any], Any]] = {
    "decimal.Decimal": decimal.Decimal,
    "fractions.Fraction": lambda parts: fractions.Fraction(*(int(part, 16) for part in parts)),
    "datetime.date": datetime.date.fromisoformat,
    "datetime.time": datetime.time.fromisoformat,
    "datetime.datetime": datetime.datetime.fromisoformat,
    "datetime.timedelta": lambda parts: datetime.timedelta(*parts),
    "uuid.UUID": uuid.UUID,
    "pathlib.Path": pathlib.PosixPath,
    "pathlib.PurePosixPath": pathlib.PurePosixPath,
    "range": lambda parts: range(*(int(part, 16) for part in parts)),
    "complex": lambda parts: complex(*parts),
    "bytes": lambda text: b64decode(text, validate=True),
}
# Values and types that both sides have by name.
NAMED: dict[str, Any] = {
    **{name: value for name, value in vars(builtins).items() if isinstance(value, type)},
    **{f"{kind.__module__}.{kind.__qualname__}": kind for kind in (*_WRITTEN, Counter, OrderedDict, defaultdict, deque)},
    "Ellipsis": Ellipsis,
    "NotImplemented": NotImplemented,
}
_NAMES = {id(value): name for name, value in NAMED.items()}
_MAPPINGS: dict[str, type] = {"dict": dict, "OrderedDict": OrderedDict, "Counter": Counter, "defaultdict": defaultdict}
_SEQUENCES: dict[str, type] = {"list": list, "set": set, "deque": deque, "bytearray": bytearray}
_OWN_KEYS = frozenset({"at", "int", "tuple", "frozenset", "slice", "value", "name"})
_CHANGEABLE = {kind: name for name, kind in (*_MAPPINGS.items(), *_SEQUENCES.items())}


class Writer:
    """Writes the values of one message.

    `refer` writes what is not plain data, or raises NotPlain. `known` are the values that the other side has in its table already.
    """

    def __init__(self, refer: Callable[[Any], Value], known: list[Any] | None = None) -> None:
        self._refer = refer
        self._objects = list(known or [])
        self._numbers = {id(each): number for number, each in enumerate(self._objects)}
        self._first = len(self._objects)
        self._contents: list[Any] = []

    @property
    def objects(self) -> list[Any]:
        """The values of the table, including those that were known."""
        return self._objects

    def write(self, value: Any) -> Value:
        """Writes a value, and the values in it."""
        written = self._write_value(value)
        self._finish()
        return written

    def table(self) -> list[Any]:
        """Returns the contents of the values that were not known."""
        return self._contents

    def known(self) -> list[Any]:
        """Returns the present contents of the known values."""
        contents = [self._write_content(each) for each in self._objects[: self._first]]
        self._finish()
        return contents

    def _finish(self) -> None:
        # Without recursion: lists may be nested more deeply than Python's stack.
        while len(self._contents) < len(self._objects) - self._first:
            self._contents.append(self._write_content(self._objects[self._first + len(self._contents)]))

    def _write_value(self, value: Any) -> Value:
        kind = type(value)
        if value is None or kind in (bool, str, float):
            return value
        if kind is int:
            return value if -_WIDE < value < _WIDE else {"int": hex(value)}
        if kind in (tuple, frozenset):
            return {kind.__name__: [self._write_value(each) for each in value]}
        if kind is slice:
            return {"slice": [self._write_value(each) for each in (value.start, value.stop, value.step)]}
        if kind in _CHANGEABLE and not (
            kind is defaultdict and id(value.default_factory) not in _NAMES and value.default_factory is not None
        ):
            return {"at": self._assign_number(value)}
        if kind in _WRITTEN and not _has_zone(value):
            name, write = _WRITTEN[kind]
            return {"value": [name, write(value)]}
        if id(value) in _NAMES:
            return {"name": _NAMES[id(value)]}
        return self._refer(value)

    def _assign_number(self, value: Any) -> int:
        number = self._numbers.get(id(value))
        if number is None:
            number = self._numbers[id(value)] = len(self._objects)
            self._objects.append(value)
        return number

    def _write_content(self, value: Any) -> Any:
        name = _CHANGEABLE[type(value)]
        if name == "bytearray":
            return [name, b64encode(value).decode("ascii")]
        if name in _MAPPINGS:
            pairs = [[self._write_value(key), self._write_value(each)] for key, each in value.items()]
            return [name, pairs, _NAMES.get(id(value.default_factory))] if name == "defaultdict" else [name, pairs]
        return [name, [self._write_value(each) for each in value]]


def _has_own_factory(value: Any) -> bool:
    factory = getattr(value, "default_factory", None)
    return factory is not None and id(factory) not in _NAMES


def _has_zone(value: Any) -> bool:
    zone = getattr(value, "tzinfo", None)
    return zone is not None and type(zone) is not datetime.timezone


class Reader:
    """Reads the values of one message. `resolve` builds what is not plain data. Raises ValueError, TypeError and LookupError."""

    def __init__(self, resolve: Callable[[dict[str, Any]], Any], table: list[Any], known: list[Any] | None = None) -> None:
        self._resolve = resolve
        self.objects = list(known or [])
        first = len(self.objects)
        self.objects.extend(_create_empty(content) for content in table)
        for content, each in zip(table, self.objects[first:], strict=True):
            self._fill(each, content)

    def read(self, value: Value) -> Any:
        """Builds a value."""
        if isinstance(value, list):
            raise ValueError("a list that is in no table")
        if not isinstance(value, dict):
            return value
        if len(value) != 1 or not _OWN_KEYS.issuperset(value):
            return self._resolve(value)
        ((key, given),) = value.items()
        if key == "at":
            return self.objects[_parse_index(given)]
        if key == "int":
            return int(given, 16)
        if key in ("tuple", "frozenset"):
            return (tuple if key == "tuple" else frozenset)(self.read(each) for each in given)
        if key == "slice":
            return slice(*(self.read(each) for each in given))
        if key == "value":
            name, written = given
            return _MADE[name](written)
        return NAMED[given]

    def change(self, changes: dict[str, Any]) -> None:
        """Gives known values the contents that they have on the other side."""
        for number, content in changes.items():
            self._fill(self.objects[_parse_index(int(number))], content)

    def _fill(self, target: Any, content: Any) -> None:
        name, given = content[0], content[1]
        if _CHANGEABLE[type(target)] != name:
            raise ValueError(f"a {name} in place of a {type(target).__name__}")
        if name == "bytearray":
            target[:] = b64decode(given, validate=True)
        elif name in _MAPPINGS:
            pairs = [(self.read(key), self.read(each)) for key, each in given]
            target.clear()
            for key, each in pairs:
                target[key] = each
        else:
            items = [self.read(each) for each in given]
            target.clear()
            (target.update if name == "set" else target.extend)(items)


def _create_empty(content: Any) -> Any:
    name = content[0]
    if name == "defaultdict":
        return defaultdict(None if content[2] is None else NAMED[content[2]])
    return {**_MAPPINGS, **_SEQUENCES}[name]()


def _parse_index(number: Any) -> int:
    if not isinstance(number, int) or number < 0:
        raise ValueError("a number that is not in the table")
    return number

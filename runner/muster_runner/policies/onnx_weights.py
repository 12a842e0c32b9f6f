"""Has ONNX Runtime map the large weights of a model from its file, without copying them.

All processes share the memory of a mapped file. It is loaded only when it is used, and adds no time to a fork.
"""

import mmap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

# In bytes. A smaller weight is not worth a mapping of its own.
WORTH_MAPPING = 1 << 20

# Field numbers of onnx.proto (ModelProto, GraphProto, TensorProto, StringStringEntryProto), and TensorProto.DataLocation.EXTERNAL.
GRAPH = 7
INITIALIZER = 5
RAW_DATA, EXTERNAL_DATA, DATA_LOCATION = 9, 13, 14
KEY, VALUE = 1, 2
EXTERNAL = 1

# Wire types of protobuf, and the sizes of those with a fixed length.
VARINT, DELIMITED = 0, 2
FIXED_BYTES = {1: 8, 5: 4}
LONGEST_VARINT = 10


class NoModelError(Exception):
    """A file that is no ONNX model. ONNX Runtime reports the reason when it loads the file."""


@dataclass(frozen=True)
class Field:
    """One field of a message: the positions of its beginning, of its content, and of the end of both."""

    number: int
    start: int
    content: int
    end: int


def map_weights(path: Path) -> bytes | None:
    """Returns the model without its large weights, which it declares as external data in the same file.

    @returns None when it has no large weights, or is no model.
    """
    with path.open("rb") as file:
        try:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return _replace(data, Field(0, 0, 0, len(data)), GRAPH, lambda graph: _strip_weights(data, graph, path.name))
        except (NoModelError, ValueError):
            # ValueError: the file is empty.
            return None


def _strip_weights(data: mmap.mmap, graph: Field, name: str) -> bytes | None:
    return _replace(data, graph, INITIALIZER, lambda tensor: _point_to_data(data, tensor, name))


def _point_to_data(data: mmap.mmap, tensor: Field, name: str) -> bytes | None:
    """Returns a tensor that names the position of its numbers; None when it is small, or already external."""
    fields = list(_read_fields(data, tensor))
    raw = [field for field in fields if field.number == RAW_DATA]
    if len(raw) != 1 or raw[0].end - raw[0].content < WORTH_MAPPING or any(field.number == DATA_LOCATION for field in fields):
        return None
    place = {"location": name, "offset": str(raw[0].content), "length": str(raw[0].end - raw[0].content)}
    rest = b"".join(data[field.start : field.end] for field in fields if field is not raw[0])
    entries = b"".join(_delimit(EXTERNAL_DATA, _encode_text(KEY, key) + _encode_text(VALUE, value)) for key, value in place.items())
    return rest + entries + _encode_varint(DATA_LOCATION << 3 | VARINT) + _encode_varint(EXTERNAL)


def _replace(data: mmap.mmap, message: Field, number: int, replacement: Callable[[Field], bytes | None]) -> bytes | None:
    """Returns a message in which the fields of one number have new contents; None when no field changes."""
    parts: list[bytes] = []
    copied = message.content
    for field in _read_fields(data, message):
        content = replacement(field) if field.number == number else None
        if content is not None:
            parts += [data[copied : field.start], _delimit(number, content)]
            copied = field.end
    return b"".join([*parts, data[copied : message.end]]) if parts else None


def _read_fields(data: mmap.mmap, message: Field) -> Iterator[Field]:
    """Yields the fields of a message. @raises NoModelError when it is malformed."""
    at = message.content
    while at < message.end:
        start = at
        tag, at = _read_varint(data, at)
        number, wire = tag >> 3, tag & 7
        content = at
        if wire == VARINT:
            _value, at = _read_varint(data, at)
        elif wire == DELIMITED:
            length, content = _read_varint(data, at)
            at = content + length
        elif wire in FIXED_BYTES:
            at += FIXED_BYTES[wire]
        else:
            raise NoModelError
        if at > message.end:
            raise NoModelError
        yield Field(number, start, content, at)


def _read_varint(data: mmap.mmap, at: int) -> tuple[int, int]:
    """Reads a number. @returns it and the position after it."""
    value = 0
    for index, byte in enumerate(data[at : at + LONGEST_VARINT]):
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return value, at + index + 1
    raise NoModelError


def _encode_varint(value: int) -> bytes:
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def _delimit(number: int, content: bytes) -> bytes:
    return _encode_varint(number << 3 | DELIMITED) + _encode_varint(len(content)) + content


def _encode_text(number: int, text: str) -> bytes:
    return _delimit(number, text.encode())

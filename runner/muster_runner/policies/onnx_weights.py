"""Has ONNX Runtime map the large weights of a model where they lie in its file, in place of copying them.

A mapped file is in memory once for all processes, takes no time to load before it is used, and none to fork.
"""

import mmap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

# In bytes. Smaller weights are not worth a mapping of their own.
WORTH_MAPPING = 1 << 20

# Of onnx.proto: fields of ModelProto, GraphProto, TensorProto and StringStringEntryProto; TensorProto.DataLocation.EXTERNAL.
GRAPH = 7
INITIALIZER = 5
RAW_DATA, EXTERNAL_DATA, DATA_LOCATION = 9, 13, 14
KEY, VALUE = 1, 2
EXTERNAL = 1

# Wire types of protobuf, and how many bytes those of a fixed length have.
VARINT, DELIMITED = 0, 2
FIXED_BYTES = {1: 8, 5: 4}
LONGEST_VARINT = 10


class NoModelError(Exception):
    """The file is no ONNX model. ONNX Runtime reports the reason when it loads the file."""


@dataclass(frozen=True)
class Field:
    """One field of a message: where it begins, where its content does, and where both end."""

    number: int
    start: int
    content: int
    end: int


def map_weights(path: Path) -> bytes | None:
    """The model of a file without its large weights, which it says are in that same file, as ONNX has it for weights beside a model.

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
    """A tensor that says where its numbers are; None where they are few, or somewhere else already."""
    fields = list(_read_fields(data, tensor))
    raw = [field for field in fields if field.number == RAW_DATA]
    if len(raw) != 1 or raw[0].end - raw[0].content < WORTH_MAPPING or any(field.number == DATA_LOCATION for field in fields):
        return None
    place = {"location": name, "offset": str(raw[0].content), "length": str(raw[0].end - raw[0].content)}
    rest = b"".join(data[field.start : field.end] for field in fields if field is not raw[0])
    entries = b"".join(_delimit(EXTERNAL_DATA, _encode_text(KEY, key) + _encode_text(VALUE, value)) for key, value in place.items())
    return rest + entries + _encode_varint(DATA_LOCATION << 3 | VARINT) + _encode_varint(EXTERNAL)


def _replace(data: mmap.mmap, message: Field, number: int, replacement: Callable[[Field], bytes | None]) -> bytes | None:
    """A message in which the fields of one number have another content; None when none has."""
    parts: list[bytes] = []
    copied = message.content
    for field in _read_fields(data, message):
        content = replacement(field) if field.number == number else None
        if content is not None:
            parts += [data[copied : field.start], _delimit(number, content)]
            copied = field.end
    return b"".join([*parts, data[copied : message.end]]) if parts else None


def _read_fields(data: mmap.mmap, message: Field) -> Iterator[Field]:
    """@raises NoModelError when it is no message."""
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
    """@returns the number, and where it ends."""
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

"""Reads delta-encoded files (docs/delta-format.md). The content of a delta is untrusted."""

import json
import os
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from muster_puller.delta_words import apply_changes, apply_differences
from muster_puller.zstd import unpack
from muster_runner.json_fields import FieldError, as_count, as_list, as_object, as_text, parse_object, required

_MAGIC = b"MUSTERD1"
_TAIL_BYTES = 8 + len(_MAGIC)
_MOST_INDEX_BYTES = 16 * 2**20
# The same bound as Muster's own reader has (docs/checkpoints.md). A block takes three values, a segment a dozen.
_MOST_INDEX_VALUES = 2_500_000
# Matches a string up to its closing quote, or to the end of the input if it has none, so that each byte is read once.
_JSON_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_BLOCK_BYTES = 2**20
_SAME, _CHANGES, _DIFFERENCES, _BYTES, _COMPRESSED = range(5)


class DeltaError(Exception):
    """The file is no delta, or is a delta of another base."""


@dataclass(frozen=True)
class _Segment:
    name: str
    size: int
    word_bytes: int
    begin: int | None
    crc32: int
    blocks: tuple[tuple[int, int], ...]


class DeltaReader:
    """Decodes the file that a delta encodes, block by block. The caller checks the file's digest."""

    def __init__(self, delta: BinaryIO, base: BinaryIO) -> None:
        """Reads the delta's index. @raises DeltaError"""
        self._delta = delta
        self._base = base
        self._base_size = base.seek(0, os.SEEK_END)
        self._payloads = 0
        try:
            self._segments = self._read_index()
        except (FieldError, ValueError) as error:
            raise DeltaError(f"its index cannot be read: {error}") from error

    def blocks(self) -> Iterator[bytes]:
        """Yields the blocks of the file in order. @raises DeltaError naming the segment."""
        at = len(_MAGIC)
        for segment in self._segments:
            checksum = 0
            for i, (kind, payload_bytes) in enumerate(segment.blocks):
                within = i * _BLOCK_BYTES
                length = min(_BLOCK_BYTES, segment.size - within)
                try:
                    block = self._read_block(segment, kind, within, length, self._read_payload(at, payload_bytes))
                except ValueError as error:
                    raise DeltaError(f"{segment.name[:200]!r}: {error}") from error
                at += payload_bytes
                checksum = zlib.crc32(block, checksum)
                yield block
            if checksum != segment.crc32:
                raise DeltaError(f"{segment.name[:200]!r} has a wrong checksum")

    def _read_block(self, segment: _Segment, kind: int, within: int, length: int, payload: bytes) -> bytes:
        if kind == _BYTES:
            return _require_length(payload, length)
        if kind == _COMPRESSED:
            return _require_length(unpack(payload, length), length)
        before = self._read_base(segment, within, length)
        if kind == _SAME:
            if payload:
                raise ValueError("a block that did not change has bytes")
            return before
        if kind == _CHANGES:
            # The size of changes is largest when every word changes and has the longest gap.
            return apply_changes(unpack(payload, 4 + 7 * length), before, segment.word_bytes)
        return apply_differences(_require_length(unpack(payload, length), length), before, segment.word_bytes)

    def _read_base(self, segment: _Segment, within: int, length: int) -> bytes:
        if segment.begin is None:
            raise ValueError("it refers to a base that it does not name")
        self._base.seek(segment.begin + within)
        return _require_length(self._base.read(length), length)

    def _read_payload(self, at: int, length: int) -> bytes:
        self._delta.seek(at)
        return _require_length(self._delta.read(length), length)

    def _read_index(self) -> tuple[_Segment, ...]:
        size = self._delta.seek(0, os.SEEK_END)
        if size < len(_MAGIC) + _TAIL_BYTES:
            raise ValueError(f"it has {size} bytes")
        self._delta.seek(0)
        head = self._delta.read(len(_MAGIC))
        self._delta.seek(size - _TAIL_BYTES)
        tail = self._delta.read(_TAIL_BYTES)
        length, checksum = int.from_bytes(tail[:4], "little"), int.from_bytes(tail[4:8], "little")
        room = size - len(_MAGIC) - _TAIL_BYTES
        if head != _MAGIC or tail[8:] != _MAGIC or length > room:
            raise ValueError("it is not whole")
        packed = self._read_payload(size - _TAIL_BYTES - length, length)
        if zlib.crc32(packed) != checksum:
            raise ValueError("its checksum is wrong")
        return self._parse(unpack(packed, _MOST_INDEX_BYTES), room - length)

    def _parse(self, text: bytes, payload_bytes: int) -> tuple[_Segment, ...]:
        if _count_values(text) > _MOST_INDEX_VALUES:
            raise ValueError(f"it has more than {_MOST_INDEX_VALUES} values")
        index = parse_object(text, "index")
        if index.get("format") != "muster-delta/1":
            raise ValueError(f"its format is {json.dumps(index.get('format'))[:80]}, expected muster-delta/1")
        base = as_object(required(index, "base", "index"), "index.base")
        if as_count(required(base, "size", "index.base"), "index.base.size") != self._base_size:
            raise ValueError(f"its base has {base['size']} bytes, and here it has {self._base_size}")
        segments = tuple(
            _parse_segment(each, f"index.segments[{i}]")
            for i, each in enumerate(as_list(required(index, "segments", "index"), "index.segments"))
        )
        if sum(length for segment in segments for _, length in segment.blocks) != payload_bytes:
            raise ValueError("its blocks do not have as many bytes as it")
        return segments


def _count_values(text: bytes) -> int:
    """Returns the number of values in a JSON text, lists and objects included. Parsed values take more memory than their text, so the
    number is checked first.
    """
    structure = _JSON_TEXT.sub(b"", text)
    return 1 + sum(structure.count(each) for each in (b",", b"[", b"{"))


def _parse_segment(value: Any, where: str) -> _Segment:
    document = as_object(value, where)
    begin = required(document, "from", where)
    segment = _Segment(
        name=as_text(required(document, "name", where), f"{where}.name"),
        size=as_count(required(document, "size", where), f"{where}.size"),
        word_bytes=as_count(required(document, "wordBytes", where), f"{where}.wordBytes"),
        begin=None if begin is None else as_count(begin, f"{where}.from"),
        crc32=as_count(required(document, "crc32", where), f"{where}.crc32"),
        blocks=tuple(_read_pair(pair, f"{where}.blocks") for pair in as_list(required(document, "blocks", where), f"{where}.blocks")),
    )
    expected = -(-segment.size // _BLOCK_BYTES)
    if segment.word_bytes not in (1, 2, 4) or segment.size % segment.word_bytes or len(segment.blocks) != expected:
        raise FieldError(f"{where} is {segment.size} bytes in words of {segment.word_bytes} and {len(segment.blocks)} blocks")
    return segment


def _read_pair(value: Any, where: str) -> tuple[int, int]:
    pair = as_list(value, where)
    if len(pair) != 2 or as_count(pair[0], where) > _COMPRESSED:
        raise FieldError(f"{where} holds {json.dumps(value)[:80]}, expected a kind and a number of bytes")
    return pair[0], as_count(pair[1], where)


def _require_length(content: bytes, length: int) -> bytes:
    if len(content) != length:
        raise ValueError(f"{len(content)} bytes in place of {length}")
    return content

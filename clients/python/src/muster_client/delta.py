"""Encodes the difference between two files, in the format of a Muster server (its docs/delta-format.md). It needs the extra `delta`."""

import json
import struct
import sys
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from muster_client.checkpoint import LocalFile

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Words = npt.NDArray[np.unsignedinteger]

MAGIC = b"MUSTERD1"
BLOCK_BYTES = 2**20
MOST_BYTES = 256 * 2**20
"""The largest delta in bytes, because it is in memory while it is sent."""
MOST_OF_FILE = 0.75
"""A delta that is not much smaller than its file costs the server more than it saves."""
MOST_CHANGES = 0.5
"""When a larger share of a block has changed, XOR of the whole block compresses better and faster."""
WORTH_COMPRESSING = 0.95
SAME, CHANGES, DIFFERENCES, BYTES, COMPRESSED = range(5)
LEVEL = 1
MAX_HEADER_BYTES = 100_000_000
WORD_BYTES = {"BF16": 2, "F16": 2, "I16": 2, "U16": 2, **dict.fromkeys(("F32", "I32", "U32", "C64", "F64", "I64", "U64"), 4)}
"""The size of a word by type of element; 1 for all others. Numbers of 8 bytes count as two words of 4."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a file that has a counterpart in files of the same kind: a tensor, or the header before them."""

    name: str
    begin: int
    size: int
    word_bytes: int


def is_available() -> bool:
    """Returns whether the packages of the extra `delta` are installed."""
    try:
        import numpy as np  # noqa: F401

        _compress(b"")
    except ImportError:
        return False
    return True


def encode_difference(file: LocalFile, base: LocalFile) -> bytes | None:
    """Encodes a file as its difference from another; None when it would not be much smaller. Raises OSError and ValueError."""
    most = min(MOST_BYTES, MOST_OF_FILE * file.size)
    with file.address.open("rb") as now, base.address.open("rb") as before:
        likes = {(segment.name, segment.size): segment.begin for segment in _read_layout(base, before)}
        written = bytearray(MAGIC)
        segments = []
        for segment in _read_layout(file, now):
            start = likes.get((segment.name, segment.size))
            blocks = []
            checksum = 0
            for at in range(0, segment.size, BLOCK_BYTES):
                length = min(BLOCK_BYTES, segment.size - at)
                block = _read(now, segment.begin + at, length)
                former = None if start is None else _read(before, start + at, length)
                kind, payload = _encode_block(block, former, segment.word_bytes)
                checksum = zlib.crc32(block, checksum)
                blocks.append([kind, len(payload)])
                written += payload
                if len(written) > most:
                    return None
            segments.append(
                {
                    "name": segment.name,
                    "size": segment.size,
                    "wordBytes": segment.word_bytes,
                    "from": start,
                    "crc32": checksum,
                    "blocks": blocks,
                }
            )
    written += _index(file, base, segments)
    return bytes(written) if len(written) <= most else None


def _index(file: LocalFile, base: LocalFile, segments: list[dict[str, object]]) -> bytes:
    sides = {name: {"digest": f"sha256:{side.sha256}", "size": side.size} for name, side in (("file", file), ("base", base))}
    packed = _compress(json.dumps({"format": "muster-delta/1", **sides, "segments": segments}).encode())
    return packed + struct.pack("<II", len(packed), zlib.crc32(packed)) + MAGIC


def _read_layout(file: LocalFile, opened: BinaryIO) -> list[Segment]:
    if not file.path.endswith(".safetensors"):
        whole = file.size - file.size % 4
        found = [Segment(f"first {whole} bytes", 0, whole, 4), Segment("the rest", whole, file.size - whole, 1)]
        return [segment for segment in found if segment.size > 0]
    (length,) = struct.unpack("<Q", _read(opened, 0, 8))
    if length > min(MAX_HEADER_BYTES, file.size - 8):
        raise ValueError(f"{file.address}: its header cannot have {length} bytes")
    header = json.loads(_read(opened, 8, length))
    start = 8 + length
    tensors = []
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            tensors.append(Segment(f"tensor {name}", start + begin, end - begin, WORD_BYTES.get(entry["dtype"], 1)))
    tensors.sort(key=lambda segment: (segment.begin, segment.size))
    segments = [segment for segment in (Segment("header", 0, start, 1), *tensors) if segment.size > 0]
    end = 0
    for segment in segments:
        if segment.begin != end or segment.size % segment.word_bytes:
            raise ValueError(f"{file.address}: {segment.name} is not where it should be")
        end += segment.size
    if end != file.size:
        raise ValueError(f"{file.address}: it has {file.size} bytes, its header speaks of {end}")
    return segments


def _encode_block(block: bytes, former: bytes | None, word_bytes: int) -> tuple[int, bytes]:
    if former is None:
        return _encode_alone(block)
    if block == former:
        return SAME, b""
    import numpy as np

    dtype = np.dtype(f"<u{word_bytes}")
    words: Words = np.frombuffer(block, dtype) ^ np.frombuffer(former, dtype)
    changed = np.flatnonzero(words)
    gaps = _encode_gaps(changed)
    if 4 + len(gaps) + len(changed) * word_bytes <= MOST_CHANGES * len(block):
        return CHANGES, _compress(struct.pack("<I", len(changed)) + gaps + _split_planes(words[changed]))
    payload = _compress(_split_planes(words))
    return (DIFFERENCES, payload) if len(payload) < WORTH_COMPRESSING * len(block) else _encode_alone(block)


def _encode_alone(block: bytes) -> tuple[int, bytes]:
    payload = _compress(block)
    return (COMPRESSED, payload) if len(payload) < WORTH_COMPRESSING * len(block) else (BYTES, block)


def _encode_gaps(changed: "npt.NDArray[np.intp]") -> bytes:
    """Encodes the number of words between two changed ones, seven bits in each byte, the lowest first. A block has less than 2²¹ words."""
    import numpy as np

    gaps = np.diff(changed, prepend=-1) - 1
    lengths = 1 + (gaps >= 1 << 7) + (gaps >= 1 << 14)
    begins = np.cumsum(lengths) - lengths
    written = np.empty(int(lengths.sum()), np.uint8)
    for byte in range(3):
        there = lengths > byte
        goes_on = (lengths[there] > byte + 1) * 0x80
        written[begins[there] + byte] = (gaps[there] >> (7 * byte) & 0x7F) | goes_on
    return written.tobytes()


def _split_planes(words: "Words") -> bytes:
    """Returns the lowest byte of each word, then the next byte of each, and so on."""
    import numpy as np

    return np.ascontiguousarray(words).view(np.uint8).reshape(len(words), words.itemsize).T.tobytes()


def _read(opened: BinaryIO, offset: int, length: int) -> bytes:
    opened.seek(offset)
    found = opened.read(length)
    if len(found) == length:
        return found
    raise ValueError(f"{opened.name} has become shorter")


def _compress(data: bytes) -> bytes:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd.compress(data, LEVEL)

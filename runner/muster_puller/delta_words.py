"""Applies the changes of a block to its words, which are little-endian."""

from typing import Any

import numpy as np

_COUNT_BYTES = 4
# A gap has seven bits in each byte, so three bytes reach over any block.
_MOST_GAP_BYTES = 3
_WORDS: dict[int, np.dtype[Any]] = {1: np.dtype("u1"), 2: np.dtype("<u2"), 4: np.dtype("<u4")}

Words = np.ndarray[Any, np.dtype[Any]]


def apply_changes(written: bytes, before: bytes, word_bytes: int) -> bytes:
    """Returns the block after some of its words changed. @raises ValueError"""
    if len(written) < _COUNT_BYTES:
        raise ValueError("it ends before its count")
    count = int.from_bytes(written[:_COUNT_BYTES], "little")
    gaps_end = len(written) - count * word_bytes
    if gaps_end < _COUNT_BYTES + count:
        raise ValueError(f"it has {len(written)} bytes for {count} changes")
    words = np.frombuffer(before, _WORDS[word_bytes]).copy()
    if count == 0:
        if gaps_end > _COUNT_BYTES:
            raise ValueError(f"{gaps_end - _COUNT_BYTES} bytes are left over")
        return words.tobytes()
    gaps = _decode_gaps(np.frombuffer(written, np.uint8, gaps_end - _COUNT_BYTES, _COUNT_BYTES), count)
    indices = np.cumsum(gaps + 1) - 1
    if indices[-1] >= len(words):
        raise ValueError("a change is out of bounds")
    words[indices] ^= _join(np.frombuffer(written, np.uint8, count * word_bytes, gaps_end), count, word_bytes)
    return words.tobytes()


def apply_differences(planes: bytes, before: bytes, word_bytes: int) -> bytes:
    """Returns the block after any of its words changed."""
    words = np.frombuffer(before, _WORDS[word_bytes])
    changed: Words = words ^ _join(np.frombuffer(planes, np.uint8), len(words), word_bytes)
    return changed.tobytes()


def _decode_gaps(written: Words, count: int) -> Words:
    """Decodes numbers that have seven bits in each byte, the lowest first. The eighth bit is 1 in all but a number's last byte."""
    ends = np.flatnonzero(written < 0x80)
    if len(ends) != count or ends[-1] != len(written) - 1:
        raise ValueError(f"it has {len(ends)} positions for {count} changes")
    starts = np.concatenate(([0], ends[:-1] + 1))
    lengths = ends - starts + 1
    if lengths.max() > _MOST_GAP_BYTES:
        raise ValueError("a position is out of bounds")
    gaps: Words = np.zeros(count, np.int64)
    for byte in range(_MOST_GAP_BYTES):
        longer = lengths > byte
        gaps[longer] |= (written[starts[longer] + byte] & 0x7F).astype(np.int64) << (7 * byte)
    return gaps


def _join(planes: Words, count: int, word_bytes: int) -> Words:
    """Joins words that are stored by byte: first the lowest bytes of all words, then the next ones."""
    words: Words = np.ascontiguousarray(planes.reshape(word_bytes, count).T).view(_WORDS[word_bytes]).reshape(count)
    return words

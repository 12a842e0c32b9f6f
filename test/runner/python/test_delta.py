"""What a pod reads of a delta before it believes any of it."""

import io
import json
import zlib
from typing import Any

import pytest
from backports import zstd

from muster_puller.delta import DeltaError, DeltaReader, _count_values

MAGIC = b"MUSTERD1"
BASE = b"the base"
INDEX = {"format": "muster-delta/1", "base": {"size": len(BASE)}}
MOST_VALUES = 2_500_000


def delta(index: dict[str, Any]) -> io.BytesIO:
    packed = zstd.compress(json.dumps(index, separators=(",", ":")).encode())
    tail = len(packed).to_bytes(4, "little") + zlib.crc32(packed).to_bytes(4, "little")
    return io.BytesIO(MAGIC + packed + tail + MAGIC)


def test_an_index_with_too_many_values_is_refused_before_they_are_created() -> None:
    many = delta({**INDEX, "segments": [], "others": [0] * MOST_VALUES})
    with pytest.raises(DeltaError, match="it has more than 2500000 values"):
        DeltaReader(many, io.BytesIO(BASE))


def test_each_name_counts_as_one_value_whatever_it_contains() -> None:
    segment = {"name": '"' + "[," * MOST_VALUES + "\\", "size": 0, "wordBytes": 1, "from": None, "crc32": 0, "blocks": []}
    reader = DeltaReader(delta({**INDEX, "segments": [segment]}), io.BytesIO(BASE))
    assert list(reader.blocks()) == []


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (b"{}", 2),
        (b'{"a":[1,2,{"b":"],["}]}', 6),
        (b'["\\",', 2),
        (b'["\\', 2),
        (b'"' + b'\\"' * 10**6, 1),
    ],
)
def test_values_are_counted_in_one_pass_even_if_the_text_is_no_json(text: bytes, values: int) -> None:
    assert _count_values(text) == values

"""Cutting bytes into lines and events."""

import pytest

from muster_client import ServerError, streams
from muster_client.streams import EventDecoder, LineDecoder

TEXT = (
    ': still here\n\nid: 1\nevent: state\ndata: {"a": "\u2028ü"}\n\nid: 2\r\ndata:one\r\ndata: two\r\n\r\nevent: nothing\n\ndata: cut off'
)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_events_are_the_same_however_their_bytes_are_cut(size: int) -> None:
    decoder, text = EventDecoder(), TEXT.encode()
    events = [event for at in range(0, len(text), size) for event in decoder.feed(text[at : at + size])]
    assert events == ['{"a": "\u2028ü"}'.encode(), b"one\ntwo"]


def test_a_line_without_an_end_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "MOST_BYTES_OF_LINE", 100)
    decoder = LineDecoder()
    assert decoder.feed(b"x" * 100) == []
    with pytest.raises(ServerError, match="more than 100 bytes"):
        decoder.feed(b"x")

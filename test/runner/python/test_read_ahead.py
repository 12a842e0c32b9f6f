"""The next piece is read while the last one is looked at, and never further ahead."""

import threading
from collections.abc import Generator

import pytest

from muster_runner.read_ahead import read_ahead

PATIENCE_SECONDS = 30


def counted(count: int, blocks: tuple[bytearray, bytearray]) -> Generator[memoryview]:
    """Pieces in two places in turn, each with its number in it."""
    for number in range(count):
        blocks[number % 2][0] = number
        yield memoryview(blocks[number % 2])


@pytest.mark.parametrize("count", [0, 1, 2, 200])
def test_every_piece_comes_as_it_was_read(count: int) -> None:
    assert [piece[0] for piece in read_ahead(counted(count, (bytearray(1), bytearray(1))))] == list(range(count))


def test_a_piece_is_read_while_the_one_before_it_is_looked_at_and_the_next_but_one_is_not() -> None:
    asked = [threading.Event() for _ in range(3)]

    def pieces() -> Generator[memoryview]:
        for event in asked:
            event.set()
            yield memoryview(b"x")

    ahead = read_ahead(pieces())
    next(ahead)
    assert asked[1].wait(PATIENCE_SECONDS)
    assert not asked[2].is_set()
    next(ahead)
    assert asked[2].wait(PATIENCE_SECONDS)
    ahead.close()


def test_what_fails_in_reading_fails_where_the_piece_would_have_come() -> None:
    def pieces() -> Generator[memoryview]:
        yield memoryview(b"x")
        raise OSError("the disk is gone")

    ahead = read_ahead(pieces())
    next(ahead)
    with pytest.raises(OSError, match="the disk is gone"):
        next(ahead)


def test_whoever_stops_early_leaves_no_thread_and_nothing_open() -> None:
    ended = threading.Event()

    def pieces() -> Generator[memoryview]:
        try:
            while True:
                yield memoryview(b"x")
        finally:
            ended.set()

    threads = threading.active_count()
    ahead = read_ahead(pieces())
    next(ahead)
    ahead.close()
    assert ended.is_set()
    assert threading.active_count() == threads


def test_where_no_thread_can_be_had_the_pieces_come_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    assert [piece[0] for piece in read_ahead(counted(5, (bytearray(1), bytearray(1))))] == list(range(5))

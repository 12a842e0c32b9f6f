"""Messages between a warden and its images."""

import os
import socket
from collections.abc import Iterator

import pytest

from muster_zygote.envelope import MAX_BYTES, Outbox, fits, receive, send

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def channel() -> Iterator[Pair]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        yield ours, theirs


def is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def pipe_with(text: bytes) -> int:
    """The reading end of a pipe with this in it."""
    reading, writing = os.pipe()
    os.write(writing, text)
    os.close(writing)
    return reading


def test_messages_arrive_whole_and_with_their_descriptors(channel: Pair) -> None:
    ours, theirs = channel
    first, second = pipe_with(b"first"), pipe_with(b"second")
    send(ours, {"type": "fork", "sandbox": "ü"}, [first, second])
    send(ours, {"type": "fork-image"})
    received = receive(theirs)
    assert received is not None
    message, descriptors = received
    assert message == {"type": "fork", "sandbox": "ü"}
    assert [os.read(descriptor, 10) for descriptor in descriptors] == [b"first", b"second"]
    assert receive(theirs) == ({"type": "fork-image"}, [])
    for descriptor in (first, second, *descriptors):
        os.close(descriptor)


def test_receiving_ends_when_the_other_side_closes(channel: Pair) -> None:
    ours, theirs = channel
    send(ours, {"type": "last"})
    ours.close()
    assert receive(theirs) == ({"type": "last"}, [])
    assert receive(theirs) is None


def test_an_outbox_does_not_wait_for_a_side_that_takes_nothing(channel: Pair) -> None:
    ours, theirs = channel
    outbox = Outbox(ours)
    count = 0
    while outbox.flush():
        outbox.put({"number": count, "much": "x" * 10_000}, [])
        count += 1
    assert not outbox.is_empty
    # Once the other side takes something again the rest follows, in order.
    for number in range(count):
        received = receive(theirs)
        assert received is not None
        assert received[0]["number"] == number
        outbox.flush()
    assert outbox.is_empty


def test_an_outbox_closes_descriptors_once_they_are_sent(channel: Pair) -> None:
    ours, theirs = channel
    outbox = Outbox(ours)
    sent = pipe_with(b"kept")
    outbox.put({"type": "fork"}, [sent])
    assert is_open(sent)
    assert outbox.flush()
    assert not is_open(sent)
    received = receive(theirs)
    assert received is not None
    assert os.read(received[1][0], 10) == b"kept"
    os.close(received[1][0])


def test_a_message_that_fits_arrives_whole(channel: Pair) -> None:
    ours, theirs = channel
    message = {"text": "x" * (MAX_BYTES - len('{"text": ""}'))}
    assert fits(message)
    assert not fits({"text": message["text"] + "x"})
    send(ours, message)
    assert receive(theirs) == (message, [])


def test_an_outbox_that_is_closed_keeps_no_descriptor_of_what_was_not_sent(channel: Pair) -> None:
    ours, theirs = channel
    outbox = Outbox(ours)
    while outbox.flush():
        outbox.put({"much": "x" * 10_000}, [])
    waiting = pipe_with(b"never sent")
    outbox.put({"type": "fork"}, [waiting])
    assert not outbox.flush()
    outbox.close()
    assert not is_open(waiting)
    while receive(theirs) is not None:
        pass

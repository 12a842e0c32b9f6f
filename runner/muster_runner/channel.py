"""The protocol channel: the process's first standard input and output, out of reach of everything else in it."""

import fcntl
import os
import select
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field

from muster_runner.frames import MAX_MUSTER_FRAME_BYTES, Outgoing, ProtocolError, encode

# Above what programs loop over when they close "all" descriptors, below the usual limit of 1,024.
LOWEST_PRIVATE_DESCRIPTOR = 500
READ_BYTES = 256 * 1024


@dataclass
class Channel:
    """Lines from Muster, frames to Muster."""

    input_descriptor: int
    output_descriptor: int
    ended: bool = False
    _lines: list[bytes] = field(default_factory=list)
    _unfinished: bytearray = field(default_factory=bytearray)
    _poll: select.poll = field(default_factory=select.poll)

    def __post_init__(self) -> None:
        self._poll.register(self.input_descriptor, select.POLLIN)
        os.register_at_fork(after_in_child=self._abandon)

    def send(self, frame: Outgoing) -> None:
        """Hands the whole frame to the kernel before it returns: what was sent survives a crash of this process.

        @raises OSError when the reader has gone.
        """
        self._write(encode(frame))

    def send_all(self, frames: Iterable[Outgoing]) -> None:
        """The same for several that belong together: they are sent in one piece."""
        self._write(b"".join(map(encode, frames)))

    def _write(self, lines: bytes) -> None:
        rest = memoryview(lines)
        while rest:
            rest = rest[os.write(self.output_descriptor, rest) :]

    def arrived(self) -> list[bytes]:
        """Reads the lines that have arrived; does not wait.

        @raises ProtocolError when one of them is too long.
        """
        while not self.ended and self._poll.poll(0):
            self._read()
        lines, self._lines = self._lines, []
        return lines

    def wait(self) -> list[bytes]:
        """Reads the lines that have arrived, waiting for the first; none only when the input has ended.

        @raises ProtocolError when one of them is too long.
        """
        while not self.ended and not self._lines:
            self._read()
        return self.arrived()

    def _read(self) -> None:
        chunk = os.read(self.input_descriptor, READ_BYTES)
        if not chunk:
            self.ended = True
            return
        # Only the new bytes are searched, so that a line of n bytes costs n and not n squared.
        head, *others = chunk.split(b"\n")
        self._unfinished += head
        for part in others:
            self._lines.append(bytes(self._unfinished))
            self._unfinished = bytearray(part)
        if len(self._unfinished) > MAX_MUSTER_FRAME_BYTES:
            raise ProtocolError(f"a line of more than {MAX_MUSTER_FRAME_BYTES} bytes")

    def _abandon(self) -> None:
        """A forked child is not the runner: it must neither answer for it nor keep its pipes open."""
        os.close(self.input_descriptor)
        os.close(self.output_descriptor)


def take_channel() -> Channel:
    """Moves descriptors 0 and 1 to private numbers and leaves /dev/null and the error output in their places.

    From then on neither `print` nor C's `printf` nor a child process can write among the frames: what they take for
    the standard output is the error output.
    """
    sys.stdout.flush()
    input_descriptor = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, LOWEST_PRIVATE_DESCRIPTOR)
    output_descriptor = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, LOWEST_PRIVATE_DESCRIPTOR)
    leave_streams()
    return Channel(input_descriptor, output_descriptor)


def leave_streams() -> None:
    """Leaves /dev/null and the error output in the places of the standard input and output."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)

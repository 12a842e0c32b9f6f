"""The protocol channel: the process's first standard input and output, moved where no other code in the process uses them."""

import fcntl
import os
import select
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field

from muster_runner.frames import MAX_MUSTER_FRAME_BYTES, Outgoing, ProtocolError, encode

# Above the descriptors that programs close in a loop over "all", and below the usual limit of 1,024.
LOWEST_PRIVATE_DESCRIPTOR = 500
READ_BYTES = 256 * 1024


@dataclass
class Channel:
    """Reads lines from Muster, and writes frames to it."""

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
        """Writes a whole frame to the kernel before it returns, so the frame survives a crash of this process.

        @raises OSError when the reader has gone.
        """
        self._write(encode(frame))

    def send_all(self, frames: Iterable[Outgoing]) -> None:
        """Writes several frames at once."""
        self._write(b"".join(map(encode, frames)))

    def _write(self, lines: bytes) -> None:
        rest = memoryview(lines)
        while rest:
            rest = rest[os.write(self.output_descriptor, rest) :]

    def arrived(self) -> list[bytes]:
        """Returns the lines that have arrived; does not wait.

        @raises ProtocolError when one of them is too long.
        """
        while not self.ended and self._poll.poll(0):
            self._read()
        lines, self._lines = self._lines, []
        return lines

    def wait(self) -> list[bytes]:
        """Returns the lines that have arrived, and waits for the first. Returns none only when the input has ended.

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
        # Only the new bytes are searched for line ends, so a line of n bytes costs n steps and not n².
        head, *others = chunk.split(b"\n")
        self._unfinished += head
        for part in others:
            self._lines.append(bytes(self._unfinished))
            self._unfinished = bytearray(part)
        if len(self._unfinished) > MAX_MUSTER_FRAME_BYTES:
            raise ProtocolError(f"a line of more than {MAX_MUSTER_FRAME_BYTES} bytes")

    def _abandon(self) -> None:
        """Closes the descriptors in a forked child, which must neither answer in the runner's name nor keep the pipes open."""
        os.close(self.input_descriptor)
        os.close(self.output_descriptor)


def take_channel() -> Channel:
    """Moves descriptors 0 and 1 to private numbers and puts /dev/null and the error output in their places.

    From then on `print`, C's `printf` and child processes cannot write between the frames: their standard output is the error output.
    """
    sys.stdout.flush()
    input_descriptor = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, LOWEST_PRIVATE_DESCRIPTOR)
    output_descriptor = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, LOWEST_PRIVATE_DESCRIPTOR)
    leave_streams()
    return Channel(input_descriptor, output_descriptor)


def leave_streams() -> None:
    """Puts /dev/null and the error output in the places of the standard input and output."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)

"""What a command prints, bounded: its beginning and its end are kept."""

import os

from muster_workspace.channel import Channel

_READ_BYTES = 1 << 16


class BoundedOutput:
    """The first `head` bytes and, of what follows, the last `tail` bytes."""

    def __init__(self, descriptor: int, head: int, tail: int) -> None:
        self.descriptor = descriptor
        self.head = bytearray()
        self.tail = bytearray()
        self.total = 0
        self._head_bytes = head
        self._tail_bytes = tail

    def read(self) -> bool:
        """Take what is there. False once there will be nothing more."""
        try:
            data = os.read(self.descriptor, _READ_BYTES)
        except BlockingIOError:
            return True
        if not data:
            return False
        self.total += len(data)
        room = self._head_bytes - len(self.head)
        self.head += data[:room]
        self.tail += data[room:] if room > 0 else data
        # Cutting at twice the size costs each byte one move, not many.
        if len(self.tail) > 2 * self._tail_bytes + _READ_BYTES:
            self._cut()
        return True

    def drain(self, most: int) -> None:
        """Take what is there, up to so many bytes in all. It may have no end: what runs on may have been given the other one."""
        before = -1
        while before < self.total <= most:
            before = self.total
            self.read()

    def finish(self) -> None:
        """Keep no more than was asked for."""
        self._cut()

    @classmethod
    def of_file(cls, descriptor: int, head: int, tail: int) -> "BoundedOutput":
        """The bounded output from a file to which no process writes any more."""
        output = cls(descriptor, head, tail)
        output.total = os.fstat(descriptor).st_size
        output.head += os.pread(descriptor, head, 0)
        output.tail += os.pread(descriptor, tail, max(len(output.head), output.total - tail))
        return output

    def renewed(self) -> "BoundedOutput":
        """The same without what was read so far."""
        return BoundedOutput(self.descriptor, self._head_bytes, self._tail_bytes)

    def _cut(self) -> None:
        del self.tail[: max(0, len(self.tail) - self._tail_bytes)]


def give(channel: Channel, request: int, streams: dict[str, BoundedOutput]) -> dict[str, int]:
    """Send what was printed. Returns how much of each stream that was."""
    for name, stream in streams.items():
        if stream.total:
            channel.send_data({"type": "output", "request": request, "stream": name, "part": "head"}, stream.head)
            channel.send_data({"type": "output", "request": request, "stream": name, "part": "tail"}, stream.tail)
    return {"stdout": 0, "stderr": 0, "report": 0, **{name: stream.total for name, stream in streams.items()}}

"""Keeps the beginning and the end of a command's output, in bounded memory."""

import os

from muster_workspace.channel import Channel

_READ_BYTES = 1 << 16


class BoundedOutput:
    """The first `head` bytes of a stream and, of the rest, the last `tail` bytes."""

    def __init__(self, descriptor: int, head: int, tail: int) -> None:
        self.descriptor = descriptor
        self.head = bytearray()
        self.tail = bytearray()
        self.total = 0
        self._head_bytes = head
        self._tail_bytes = tail

    def read(self) -> bool:
        """Reads what has arrived. Returns False at the end of the stream."""
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
        # The tail is cut at twice its size, so that each byte is moved once.
        if len(self.tail) > 2 * self._tail_bytes + _READ_BYTES:
            self._cut()
        return True

    def drain(self, most: int) -> None:
        """Reads what has arrived, up to `most` bytes. The stream may never end, because a running process may hold its other end."""
        before = -1
        while before < self.total <= most:
            before = self.total
            self.read()

    def finish(self) -> None:
        """Cuts the tail to its size."""
        self._cut()

    @classmethod
    def of_file(cls, descriptor: int, head: int, tail: int) -> "BoundedOutput":
        """Returns the bounded output of a file that no process writes any more."""
        output = cls(descriptor, head, tail)
        output.total = os.fstat(descriptor).st_size
        output.head += os.pread(descriptor, head, 0)
        output.tail += os.pread(descriptor, tail, max(len(output.head), output.total - tail))
        return output

    def make_empty(self) -> "BoundedOutput":
        """Returns an empty output of the same stream with the same bounds."""
        return BoundedOutput(self.descriptor, self._head_bytes, self._tail_bytes)

    def _cut(self) -> None:
        del self.tail[: max(0, len(self.tail) - self._tail_bytes)]


def give(channel: Channel, request: int, streams: dict[str, BoundedOutput]) -> dict[str, int]:
    """Sends what was printed. Returns the total size of each stream."""
    for name, stream in streams.items():
        if stream.total:
            channel.send_data({"type": "output", "request": request, "stream": name, "part": "head"}, stream.head)
            channel.send_data({"type": "output", "request": request, "stream": name, "part": "tail"}, stream.tail)
    return {"stdout": 0, "stderr": 0, "report": 0, **{name: stream.total for name, stream in streams.items()}}

"""Keeps the beginning and the end of what the environment and the policy print in an episode, and forwards it all to the error output."""

import io
import os
import sys
from dataclasses import dataclass, field
from typing import Any

# Bytes that are kept of each end. Both together fit into the frame of an outcome, even if every byte is escaped.
KEPT_BYTES = 4096


@dataclass
class EpisodePrints:
    """The first and the last bytes that were printed since the last `take`."""

    _head: bytearray = field(default_factory=bytearray)
    _tail: bytearray = field(default_factory=bytearray)
    # Number of bytes that were printed since the last `take`.
    total: int = 0

    def append(self, data: bytes) -> None:
        self.total += len(data)
        room = KEPT_BYTES - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        # The tail is cut rarely, so that many small prints do not move it each time.
        if len(self._tail) > 2 * KEPT_BYTES:
            del self._tail[:-KEPT_BYTES]

    def pour_into(self, other: "EpisodePrints") -> None:
        """Appends the kept bytes to another's, and empties this one."""
        tail = self._tail[-KEPT_BYTES:]
        other.append(bytes(self._head))
        # The bytes between the two ends are missing in the other as well.
        other.total += self.total - len(self._head) - len(tail)
        other.append(bytes(tail))
        self._clear()

    def take(self) -> str:
        """Returns the kept bytes as text, and empties this one. The text is empty when nothing was printed."""
        if self.total == 0:
            return ""
        tail = self._tail[-KEPT_BYTES:]
        missing = self.total - len(self._head) - len(tail)
        text = bytes(self._head) + (b"\n[%d bytes left out]\n" % missing if missing else b"") + bytes(tail)
        self._clear()
        return text.decode("utf-8", "replace")

    def _clear(self) -> None:
        self._head.clear()
        self._tail.clear()
        self.total = 0


class PassedOn(io.BufferedIOBase):
    """A byte stream that writes to the error output at once, so that a crash loses no print."""

    name = "<stderr>"

    def __init__(self, prints: EpisodePrints) -> None:
        self._prints = prints

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return 2

    def write(self, data: Any, /) -> int:
        view = bytes(data)
        self._prints.append(view)
        rest = memoryview(view)
        try:
            while rest:
                rest = rest[os.write(2, rest) :]
        except OSError:
            # The error output has no reader. The print is kept with the episode, and must not decide its outcome.
            return len(view)
        return len(view)


def keep_prints() -> EpisodePrints:
    """Replaces `sys.stdout` and `sys.stderr`. Returns the prints of the present episode."""
    prints = EpisodePrints()
    for name in ("stdout", "stderr"):
        stream = io.TextIOWrapper(PassedOn(prints), encoding="utf-8", errors="backslashreplace", write_through=True)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    return prints

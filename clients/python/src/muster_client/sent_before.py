"""Remembers uploads to the server, because successive checkpoints of a run have most of their bytes in common."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from muster_client import delta
from muster_client.checkpoint import LocalFile

WORTH_TELLING_BYTES = 2**20
"""The smallest file in bytes for which a delta is tried: for smaller files, the question and the encoding would take longer than the
upload.
"""
REMEMBERED = 16
"""The number of remembered files: enough for the previous checkpoint of each of several runs that take turns."""


@dataclass(slots=True)
class SentBefore:
    """The files that one client has uploaded."""

    _files: tuple[LocalFile, ...] = field(default=())

    def remember(self, files: Iterable[LocalFile]) -> None:
        large = [file for file in files if file.size >= WORTH_TELLING_BYTES]
        digests = {file.sha256 for file in large}
        self._files = (*reversed(large), *(file for file in self._files if file.sha256 not in digests))[:REMEMBERED]

    def like(self, file: LocalFile) -> list[LocalFile]:
        """Returns files that may be similar, the latest first; none if deltas cannot be encoded."""
        if file.size < WORTH_TELLING_BYTES or not self._files or not delta.is_available():
            return []
        return [other for other in self._files if other.size == file.size and other.sha256 != file.sha256]


def encode_difference(file: LocalFile, base: LocalFile) -> bytes | None:
    """Encodes the difference; None when it would not be smaller, or one of the two files has changed."""
    try:
        return delta.encode_difference(file, base) if base.is_unchanged() else None
    except (OSError, ValueError, KeyError, TypeError):
        # Sending the whole file will show what is wrong with it.
        return None

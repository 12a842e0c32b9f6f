"""A file that is written and hashed while its bytes arrive."""

import errno
import hashlib
import os
from pathlib import Path
from types import TracebackType

from muster_puller.failure import PullError, translate_disk_errors
from muster_puller.order import WantedFile

_CANNOT_ALLOCATE = (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)


class GrowingFile:
    """Writes a file and computes its SHA-256.

    The hash covers exactly the bytes that were written. The file's space is allocated first, so a disk that is too small fails before any
    fetch.
    """

    def __init__(self, path: Path, wanted: WantedFile) -> None:
        """Creates the file. @raises PullError `disk-full`, `disk`"""
        self.path = path
        self._wanted = wanted
        self._hash = hashlib.sha256()
        self.count = 0
        with translate_disk_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("wb", buffering=0)
            try:
                self._allocate()
            except OSError:
                self._file.close()
                path.unlink()
                raise

    def __enter__(self) -> "GrowingFile":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._file.close()

    @property
    def is_whole(self) -> bool:
        return self.count == self._wanted.size

    def write(self, piece: memoryview | bytes) -> None:
        """Appends bytes. @raises PullError `size` when more arrive than the file has; `disk-full`, `disk`"""
        if self.count + len(piece) > self._wanted.size:
            raise PullError("size", f"more bytes came than its {self._wanted.size}")
        left = memoryview(piece)
        with translate_disk_errors(self.path):
            while left:
                left = left[self._file.write(left) :]
        self._hash.update(piece)
        self.count += len(piece)

    def start_over(self) -> None:
        with translate_disk_errors(self.path):
            self._file.seek(0)
        self._hash = hashlib.sha256()
        self.count = 0

    def finish(self) -> None:
        """Checks the digest, and makes the file read-only. @raises PullError `digest` when the content is wrong; `disk`"""
        found = self._hash.hexdigest()
        if found != self._wanted.sha256:
            raise PullError("digest", f"the received file has the SHA-256 {found}, expected {self._wanted.sha256}")
        with translate_disk_errors(self.path):
            os.fchmod(self._file.fileno(), 0o444)

    def _allocate(self) -> None:
        if self._wanted.size == 0:
            return
        try:
            os.posix_fallocate(self._file.fileno(), 0, self._wanted.size)
        except OSError as error:
            if error.errno not in _CANNOT_ALLOCATE:
                raise

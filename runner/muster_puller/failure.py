"""The error of a fetch, and errors of the file system in its form."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class PullError(Exception):
    """An order that failed. None of its files is in its place. `code` is for programs, the message for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def translate_disk_errors(path: Path) -> Iterator[None]:
    """Turns errors of the file system into PullErrors with codes of their own. @raises PullError `disk-full`, `disk`"""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise PullError("disk-full", f"no space left for {path}: {error.strerror}") from error
        raise PullError("disk", f"{path}: {error}") from error

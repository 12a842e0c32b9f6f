"""Why a file cannot be fetched."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class PullError(Exception):
    """None of the order's files is in its place. `code` is for programs, the message for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def disk(path: Path) -> Iterator[None]:
    """Failures of the file system, distinguished from those of the network. @raises PullError `disk-full`, `disk`"""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise PullError("disk-full", f"no space left for {path}: {error.strerror}") from error
        raise PullError("disk", f"{path}: {error}") from error

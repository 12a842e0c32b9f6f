"""Locks between processes. The kernel releases a lock when its holder ends."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from muster_puller.failure import PullError, translate_disk_errors
from muster_puller.patience import Patience

_LOOK_SECONDS = 0.05


@contextmanager
def hold_lock(path: Path, patience: Patience) -> Iterator[None]:
    """Holds a lock. @raises PullError `late` when another process holds it for too long; `disk`"""
    descriptor = _open(path)
    try:
        while not _try_lock(descriptor):
            if patience.is_over:
                raise PullError("late", "another process worked on it for the whole time limit")
            time.sleep(_LOOK_SECONDS)
        yield
    finally:
        os.close(descriptor)


def is_lock_free(path: Path) -> bool:
    """Returns whether no process holds the lock at the moment."""
    descriptor = _open(path)
    try:
        return _try_lock(descriptor)
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    with translate_disk_errors(path):
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True

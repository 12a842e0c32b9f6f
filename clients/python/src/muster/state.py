"""Directories that are removed with the last process that uses them."""

import fcntl
import os
import shutil
import tempfile
from pathlib import Path


class OwnDirectory:
    """A directory that is removed with its last owner. A killed owner releases the lock, so the next start removes its directory."""

    def __init__(self) -> None:
        place = _find_place()
        place.mkdir(parents=True, exist_ok=True)
        _sweep(place)
        self.path = Path(tempfile.mkdtemp(prefix="server-", dir=place))
        self.lock = _lock(self.path)
        """The lock's descriptor. Each process that holds it is an owner."""

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        self.release()

    def release(self) -> None:
        """Closes the lock in a forked child, which does not own the directory."""
        if self.lock >= 0:
            os.close(self.lock)
            self.lock = -1


def _find_place() -> Path:
    home = os.environ.get("XDG_STATE_HOME", "")
    return (Path(home) if Path(home).is_absolute() else Path.home() / ".local" / "state") / "muster" / "embedded"


def _lock(directory: Path) -> int:
    """Locks the directory. Raises BlockingIOError when another process has the lock."""
    lock = os.open(directory / "lock", os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        os.close(lock)
        raise
    return lock


def _sweep(place: Path) -> None:
    for directory in place.glob("server-*"):
        if not (directory / "lock").exists():
            continue  # Another process is about to lock it.
        try:
            lock = _lock(directory)
        except OSError:
            continue
        shutil.rmtree(directory, ignore_errors=True)
        os.close(lock)

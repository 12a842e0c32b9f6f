"""Directories that live as long as a process and the server that it started."""

import fcntl
import os
import shutil
import tempfile
from pathlib import Path


class OwnDirectory:
    """A directory that goes with its owners. Those that were killed hold its lock no more, and the next one removes what they left."""

    def __init__(self) -> None:
        place = _find_place()
        place.mkdir(parents=True, exist_ok=True)
        _sweep(place)
        self.path = Path(tempfile.mkdtemp(prefix="server-", dir=place))
        self.lock = _locked(self.path)
        """The descriptor: whichever process has it, too, is an owner."""

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        self.let_go()

    def let_go(self) -> None:
        """In a forked child, to which it does not belong."""
        if self.lock >= 0:
            os.close(self.lock)
            self.lock = -1


def _find_place() -> Path:
    home = os.environ.get("XDG_STATE_HOME", "")
    return (Path(home) if Path(home).is_absolute() else Path.home() / ".local" / "state") / "muster" / "embedded"


def _locked(directory: Path) -> int:
    """Raises BlockingIOError when another process has it."""
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
            lock = _locked(directory)
        except OSError:
            continue
        shutil.rmtree(directory, ignore_errors=True)
        os.close(lock)

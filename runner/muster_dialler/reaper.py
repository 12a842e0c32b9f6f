"""Waits for every child of this process: those that it started, and those that it inherits as a container's first process."""

import os
import subprocess
import threading
from collections.abc import Callable

Ended = Callable[[int], None]


class Reaper:
    """Reaps all children in one thread, so that no wait takes another child's exit."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._born = threading.Event()
        self._awaited: dict[int, Ended] = {}
        threading.Thread(target=self._work, daemon=True).start()

    def start(self, start: Callable[[], subprocess.Popen[bytes]], ended: Ended) -> subprocess.Popen[bytes]:
        """Starts a child. @param ended: called in another thread with the exit code, which is 128 + n after signal n, as in shells."""
        with self._lock:
            child = start()
            self._awaited[child.pid] = ended
            self._born.set()
        return child

    def _work(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, 0)
            except ChildProcessError:
                self._born.wait()
                self._born.clear()
                continue
            with self._lock:
                ended = self._awaited.pop(pid, None)
            if ended is not None:
                code = os.waitstatus_to_exitcode(status)
                ended(code if code >= 0 else 128 - code)

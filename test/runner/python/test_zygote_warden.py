"""What the warden makes of sandboxes whose walls do not come to stand."""

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from muster_zygote import walls, warden
from muster_zygote.envelope import Outbox
from muster_zygote.first_process import FirstProcesses
from muster_zygote.linux import Call, close_others, open_file
from muster_zygote.records import ImageLink
from muster_zygote.settings import Settings
from muster_zygote.warden import Warden

SETTINGS = Settings(
    imports=(),
    tmp_bytes=1,
    shm_bytes=1,
    mounts_within=(),
    uid=1000,
    own_user=False,
    host_network=False,
    data_bytes=2**33,
    memory_bytes=None,
    processes=None,
    open_files=64,
    filter=b"",
    cgroups=(),
)
ORDER = {"type": "fork", "sandbox": "one", "image": "", "token": "secret", "command": ["true"]}


class Walled:
    """A warden that builds one sandbox, without namespaces and without connections to Muster and to a zygote."""

    def __init__(self, calls: tuple[Call, ...], monkeypatch: pytest.MonkeyPatch) -> None:
        self.reports: list[dict[str, Any]] = []
        self.processes = FirstProcesses((close_others(1), *calls))
        monkeypatch.setattr(walls, "FirstProcesses", lambda _calls: self.processes)
        monkeypatch.setattr(warden, "open_site", lambda *_arguments: [])
        monkeypatch.setattr(walls, "make", lambda *_calls: None)
        monkeypatch.setattr(self.processes, "start", self._start)
        self.warden = Warden(SETTINGS, SimpleNamespace(send=self.reports.append))  # type: ignore[arg-type]
        channel, self._image = socket.socketpair()
        # It is not ready, so no program is forked.
        self.warden._images[""] = ImageLink(Outbox(channel))
        self.warden._build_ordered(ORDER)

    def _start(self, serial: int, word: str) -> int:
        self.pid = FirstProcesses.start(self.processes, serial, word)
        return self.pid

    def reap(self) -> None:
        """Once the first process has ended."""
        os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        self.warden._reap()

    def close(self) -> None:
        self.processes.close()
        self.warden._images[""].outbox.close()
        self._image.close()


@pytest.fixture
def failing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Walled]:
    walled = Walled((open_file(str(tmp_path / "missing" / "file"), os.O_RDONLY),), monkeypatch)
    yield walled
    walled.close()


def test_a_first_process_that_is_reaped_before_its_report_is_read_still_says_why_it_failed(failing: Walled, tmp_path: Path) -> None:
    failing.reap()
    assert failing.reports == [{"type": "failed", "sandbox": "one", "message": f"open {tmp_path}/missing/file: No such file or directory"}]


def test_a_first_process_that_was_killed_is_reported_as_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    walled = Walled((), monkeypatch)
    try:
        os.kill(walled.pid, signal.SIGKILL)
        walled.reap()
    finally:
        walled.close()
    assert walled.reports == [{"type": "lost", "sandbox": "one", "message": "its first process was killed from outside"}]

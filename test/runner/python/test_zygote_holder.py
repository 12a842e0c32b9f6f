"""What a sandbox's first process becomes, and the lists of system calls that lead there."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster_zygote import holder
from muster_zygote.holder import Holder
from muster_zygote.linux import Call, change_directory, fork, ignore_signal, make, tell, write_file

DEADLINE_SECONDS = 30.0


@pytest.fixture(params=["x86_64", "of no known kind"])
def held(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The process id of one that has become the holder; on a machine of no known kind it is /bin/sleep."""
    if request.param == "x86_64" and os.uname().machine != "x86_64":
        pytest.skip("there is no code for this machine's processor: the other case is what happens here")
    monkeypatch.setattr(holder.platform, "machine", lambda: request.param)
    calls = (ignore_signal(signal.SIGCHLD), *Holder().become())
    pid = fork()
    if pid == 0:
        make(*calls)
        os._exit(1)
    try:
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_it_sleeps_with_nothing_open(held: int) -> None:
    own = Path("/proc/self/exe").stat()
    deadline = time.monotonic() + DEADLINE_SECONDS
    while Path(f"/proc/{held}/exe").stat() == own or "State:\tS" not in Path(f"/proc/{held}/status").read_text():
        assert time.monotonic() < deadline, Path(f"/proc/{held}/status").read_text()
    assert list(Path(f"/proc/{held}/fd").iterdir()) == []
    assert Path(f"/proc/{held}/environ").read_bytes() == b""


def test_calls_are_made_in_turn_up_to_the_first_that_fails(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    reading, writing = os.pipe()
    here = Path.cwd()
    calls = (change_directory(str(tmp_path)), write_file("file", "written"), write_file("missing", ""), tell(writing, "never"))
    try:
        with pytest.raises(FileNotFoundError, match="write missing"):
            make(*calls)
    finally:
        os.chdir(here)
        os.close(writing)
    assert (tmp_path / "file").read_text() == "written"
    assert os.read(reading, 10) == b""
    os.close(reading)


def test_what_a_call_raises_passes_through() -> None:
    with pytest.raises(ZeroDivisionError):
        make(Call(lambda: 1 // 0, (), "divide"))

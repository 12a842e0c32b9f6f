"""The first process of a sandbox, and the list of system calls that it goes through."""

import errno
import os
import select
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from muster_zygote import first_process, native_program
from muster_zygote.first_process import FirstProcesses, Report
from muster_zygote.linux import (
    Argument,
    Call,
    MountFlag,
    change_directory,
    close_others,
    ignore_signal,
    make,
    make_directory,
    mount,
    name_process,
    open_file,
    write_file,
)

DEADLINE_SECONDS = 30.0
FREE = 1


@pytest.fixture(params=["x86_64", "of no known kind"])
def machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """On a machine of no known kind it is forked, and becomes /bin/sleep."""
    if request.param == "x86_64" and os.uname().machine != "x86_64":
        pytest.skip("there are no instructions for this machine's processor: the other case is what happens here")
    monkeypatch.setattr(native_program.platform, "machine", lambda: request.param)
    return str(request.param)


@contextmanager
def started(calls: list[Call], word: str = "", serial: int = 7) -> Iterator[tuple[int, Report]]:
    """The process id of one that is there until the end of the block, and what it has reported."""
    processes = FirstProcesses((close_others(FREE), *calls))
    pid = processes.start(serial, word)
    try:
        readable, _, _ = select.select([processes.descriptor], [], [], DEADLINE_SECONDS)
        assert readable, Path(f"/proc/{pid}/status").read_text()
        (report,) = processes.reports()
        yield pid, report
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        processes.close()


@pytest.mark.usefixtures("machine")
class TestFirstProcess:
    def test_a_first_process_makes_its_calls_and_reports_once(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        calls = [change_directory(str(tmp_path)), make_directory("made"), *write_file("file", "written", FREE)]
        with started(calls, serial=12_345_678) as (_pid, report):
            assert report == Report(12_345_678, None)
            assert (tmp_path / "file").read_text() == "written"
            assert (tmp_path / "made").is_dir()

    def test_a_first_process_then_sleeps_with_nothing_open(self, machine: str) -> None:
        own = Path("/proc/self/exe").stat()
        with started([ignore_signal(signal.SIGCHLD), name_process("walls")]) as (pid, _report):
            deadline = time.monotonic() + DEADLINE_SECONDS
            while list(Path(f"/proc/{pid}/fd").iterdir()) or "State:\tS" not in status(pid):
                assert time.monotonic() < deadline, status(pid)
            assert Path(f"/proc/{pid}/exe").stat() != own
            assert status(pid).startswith("Name:\twalls\n" if machine == "x86_64" else "Name:\tsleep\n")
            assert Path(f"/proc/{pid}/environ").read_bytes() == b""
            (ignored,) = (line for line in status(pid).splitlines() if line.startswith("SigIgn:"))
            assert int(ignored.split()[1], 16) >> (signal.SIGCHLD - 1) & 1

    def test_a_first_process_stops_at_the_call_that_fails_and_reports_it(self, tmp_path: Path) -> None:
        calls = [open_file(str(tmp_path / "missing" / "file"), os.O_RDONLY), make_directory(str(tmp_path / "never"))]
        with started(calls) as (pid, report):
            assert report == Report(7, f"open {tmp_path}/missing/file: No such file or directory")
            ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
            assert ended is not None
            assert (ended.si_code, ended.si_status) == (os.CLD_EXITED, 1)
            assert list(tmp_path.iterdir()) == []

    def test_each_start_passes_its_own_word(self, tmp_path: Path) -> None:
        make_it = make_directory("")._replace(arguments=(Argument(1), 0o755))
        for name in ("one", "another"):
            with started([make_it], str(tmp_path / name)) as (_pid, report):
                assert report.problem is None
        assert {path.name for path in tmp_path.iterdir()} == {"one", "another"}

    def test_reports_of_several_first_processes_are_separate(self) -> None:
        processes = FirstProcesses((close_others(FREE), change_directory("/")))
        pids = [processes.start(serial, "") for serial in range(40)]
        heard: list[Report] = []
        try:
            while len(heard) < len(pids):
                assert select.select([processes.descriptor], [], [], DEADLINE_SECONDS)[0]
                heard += processes.reports()
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            processes.close()
        assert sorted(heard, key=lambda report: report.serial) == [Report(serial, None) for serial in range(len(pids))]

    def test_a_refusal_of_the_kernel_is_reported(self) -> None:
        with started([mount("nothing", "/proc/self/missing", "tmpfs", MountFlag.READ_ONLY)]) as (_pid, report):
            assert report.problem is not None
            assert report.problem.startswith("mount /proc/self/missing: ")


class TestWhereMemoryCannotBeExecuted:
    @pytest.fixture(autouse=True)
    def forbidden(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def posix_spawn(path: str, *_arguments: object, **_named: object) -> int:
            raise PermissionError(errno.EACCES, "Permission denied", path)

        monkeypatch.setattr(first_process.os, "posix_spawn", posix_spawn)

    def test_a_machine_that_cannot_spawn_the_program_forks_it(self, tmp_path: Path) -> None:
        with started([make_directory(str(tmp_path / "made"))]) as (_pid, report):
            assert report == Report(7, None)
            assert (tmp_path / "made").is_dir()

    def test_the_reason_is_reported_without_the_path_in_proc(self) -> None:
        reading, writing = os.pipe()
        spawned = first_process.Spawned((close_others(FREE),), writing)
        try:
            with pytest.raises(PermissionError) as error:
                spawned.start(1, "")
            assert str(error.value) == "[Errno 13] spawn: Permission denied"
        finally:
            spawned.close()
            os.close(reading)
            os.close(writing)


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="there are no instructions for this machine's processor")
def test_a_kernel_that_lacks_a_call_has_first_processes_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert first_process.can_spawn()
    monkeypatch.setitem(native_program._NUMBERS, "close_range", 9_999)
    assert not first_process.can_spawn()


def status(pid: int) -> str:
    return Path(f"/proc/{pid}/status").read_text()


def test_calls_are_made_in_turn_up_to_the_first_that_fails(tmp_path: Path) -> None:
    here = Path.cwd()
    try:
        with pytest.raises(FileNotFoundError, match="mkdir missing/directory"):
            make(change_directory(str(tmp_path)), make_directory("first"), make_directory("missing/directory"), make_directory("never"))
    finally:
        os.chdir(here)
    assert [path.name for path in tmp_path.iterdir()] == ["first"]


def test_an_error_of_a_call_is_raised_to_the_caller() -> None:
    with pytest.raises(ZeroDivisionError):
        make(Call(lambda: 1 // 0, (), "divide"))

"""Starts the first process of a sandbox. It makes a list of system calls, reports their results, and then only waits."""

import contextlib
import errno
import fcntl
import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn, Protocol

from muster_zygote.linux import Argument, Call, close_file, close_others, fork, make
from muster_zygote.native_program import NAME_BYTES, NONE_FAILED, REPORT, REPORTED, build_native_program, is_known_machine

READ_REPORTS = 1024
# A flag since Linux 6.3, on which a machine may require that executable memory is declared.
MFD_EXEC = 0x10
# The number of serial numbers: as many as NAME_BYTES digits can express.
SERIALS = 10**NAME_BYTES
# The program that a fork of the warden becomes. It does nothing for 68 years.
SLEEP = ("/bin/sleep", str(2**31 - 1))


@dataclass(frozen=True)
class Report:
    """The result of a first process's system calls."""

    # The number with which the process was started.
    serial: int
    # The problem, or None.
    problem: str | None


class FirstProcess(Protocol):
    """Starts processes that make the same calls, with another word in place of Argument(1). Each reports on descriptor 0, and then closes
    it.
    """

    def start(self, serial: int, word: str) -> int:
        """Starts one. @param serial: below SERIALS. @returns its process id, without waiting. @raises OSError when no further process is
        possible.
        """

    def close(self) -> None:
        """Frees its resources. No process can be started afterwards."""


class FirstProcesses:
    """Starts the first processes of one warden, and reads their reports."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self._calls = tuple(calls)
        # Becomes readable when a process has reported. A process waits if the pipe is full.
        self.descriptor, self._report = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self.descriptor, False)
        self._kind: FirstProcess = (Spawned if is_known_machine() and can_spawn() else Forked)(self._calls, self._report)

    def start(self, serial: int, word: str) -> int:
        """Does the same as FirstProcess.start."""
        return self._kind.start(serial, word)

    def reports(self) -> list[Report]:
        """Returns the reports that have arrived. Each is written by one call, so none arrives in parts."""
        try:
            content = os.read(self.descriptor, READ_REPORTS * REPORTED.size)
        except BlockingIOError:
            return []
        return [Report(int(name), self._describe_problem(result, position)) for name, result, position in REPORTED.iter_unpack(content)]

    def close(self) -> None:
        """Frees its resources. Processes that have been started continue."""
        self._kind.close()
        os.close(self.descriptor)
        os.close(self._report)

    def _describe_problem(self, result: int, position: int) -> str | None:
        return None if position == NONE_FAILED else f"{self._calls[position].what}: {os.strerror(-result)}"


class Spawned:
    """Starts a program, without sharing or copying the warden's memory."""

    def __init__(self, calls: Sequence[Call], report: int) -> None:
        self._program = seal(build_native_program(calls))
        self._path = f"/proc/self/fd/{self._program}"
        self._streams = [(os.POSIX_SPAWN_DUP2, report, REPORT)]

    def start(self, serial: int, word: str) -> int:
        try:
            return os.posix_spawn(self._path, (format_name(serial), word), {}, file_actions=self._streams)
        except OSError as error:
            raise OSError(error.errno, f"spawn: {os.strerror(error.errno or 0)}") from None

    def close(self) -> None:
        os.close(self._program)


class Forked:
    """Forks the warden, where Spawned has no instructions for the processor or may not be executed."""

    def __init__(self, calls: Sequence[Call], report: int) -> None:
        self._calls = calls
        self._report = report

    def start(self, serial: int, word: str) -> int:
        calls = [replace_argument(call, os.fsencode(word)) for call in self._calls]
        pid = fork()
        if pid == 0:
            try:
                self._become(format_name(serial).encode(), calls)
            finally:
                os._exit(1)
        return pid

    def close(self) -> None:
        """Does nothing, because it holds no resources."""

    def _become(self, name: bytes, calls: Sequence[Call]) -> NoReturn:
        os.dup2(self._report, REPORT)
        result, position = 0, NONE_FAILED
        for number, call in enumerate(calls):
            try:
                make(call)
            except OSError as error:
                result, position = -(error.errno or 1), number
                break
        os.write(REPORT, REPORTED.pack(name, result, position))
        if position != NONE_FAILED:
            os._exit(1)
        os.close(REPORT)
        # Frees the copy of the warden's data, and two megabytes of memory.
        with contextlib.suppress(OSError):
            os.execve(SLEEP[0], SLEEP, {})
        while True:
            signal.pause()


def can_spawn() -> bool:
    """Tries it once: a machine may forbid to execute files that are only in memory, or may lack a system call that every program begins
    with.
    """
    reading, writing = os.pipe2(os.O_CLOEXEC)
    os.set_blocking(reading, False)
    try:
        # The second call fails, and the report must say so.
        trial = Spawned((close_others(REPORT + 1), close_file(REPORT + 1)), writing)
        try:
            os.waitpid(trial.start(0, ""), 0)
        finally:
            trial.close()
        return [position for _name, _result, position in REPORTED.iter_unpack(os.read(reading, REPORTED.size))] == [1]
    except OSError:
        return False
    finally:
        os.close(reading)
        os.close(writing)


def replace_argument(call: Call, word: bytes) -> Call:
    return call._replace(arguments=tuple(word if isinstance(each, Argument) else each for each in call.arguments))


def format_name(serial: int) -> str:
    return f"{serial:0{NAME_BYTES}}"


def seal(program: bytes) -> int:
    """Makes a file in memory that is sealed against changes."""
    flags = os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING
    try:
        descriptor = os.memfd_create("walls", flags | MFD_EXEC)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        descriptor = os.memfd_create("walls", flags)
    os.write(descriptor, program)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL)
    return descriptor

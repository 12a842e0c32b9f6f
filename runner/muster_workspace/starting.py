"""Starts a command: opens its streams, creates its process, and reports why it cannot start."""

import errno
import fcntl
import os
import resource
import signal
import time
from _socket import socketpair
from typing import TYPE_CHECKING, NamedTuple

from muster_workspace.command import Command
from muster_workspace.interpreters import Interpreters

# Few commands need it, and the import would cost time in every sandbox that is not forked.
if TYPE_CHECKING:
    from muster_workspace.watched_calls import Calls, Watch

_REPORT_DESCRIPTOR = 3
_NO_PROCESS = -1


class Pipes(NamedTuple):
    """This process's ends of a command's streams, and the end that reports a failed start. A negative number means that there is no such
    stream.
    """

    input: int
    stdout: int
    stderr: int
    report: int
    problem: int
    theirs: tuple[int, int, int, int, int]
    """The command's ends: input, output, error output, report, and the problem of a failed start."""


class Begun(NamedTuple):
    """A command that has been started, or could not be."""

    pid: int
    is_forked: bool
    """Whether an interpreter forked it. The interpreter then reports its end."""
    start: float
    """Seconds of the monotonic clock."""
    problem: str
    """The reason why it could not start; empty when it runs."""
    calls: "Calls | None"
    """The system calls of the command, if they are watched."""
    pipes: Pipes


def begin(command: Command, interpreters: Interpreters) -> Begun:
    """Starts a command: forks it from an interpreter if that is possible, and otherwise starts a new process."""
    pipes = _open_pipes(command)
    watch = _prepare_watch(command.watched) if command.watched else None
    start = time.monotonic()
    forked = interpreters.fork(command.forked, pipes.theirs[:3]) if command.forked else None
    if forked:
        # The time counts from here, because until now the interpreter was busy, or was itself starting.
        start = time.monotonic()
    pid, problem = (forked, "") if forked else _begin(command, pipes, watch)
    for theirs in pipes.theirs:
        if theirs >= 0:
            os.close(theirs)
    calls = watch.accept() if watch else None
    if pipes.problem >= 0:
        problem += _read_all(pipes.problem)
    return Begun(pid, forked is not None, start, problem, calls, pipes)


def _begin(command: Command, pipes: Pipes, watch: "Watch | None") -> tuple[int, str]:
    """Starts a new process. Returns its id, and the problem if it is known already."""
    if watch is None and not command.alone:
        return _spawn(command, pipes.theirs[:4] if command.has_report else pipes.theirs[:3])
    return _start(command, pipes, watch), ""


def begin_detached(command: Command) -> tuple[int, dict[str, int], str]:
    """Starts a command that continues to run. Returns its id, its streams, which are non-blocking, and the problem."""
    given = os.memfd_create("input")
    left = memoryview(command.input)
    while left:
        left = left[os.write(given, left) :]
    os.lseek(given, 0, os.SEEK_SET)
    stdout, their_stdout = os.pipe()
    stderr, their_stderr = os.pipe()
    for own in (stdout, stderr):
        os.set_blocking(own, False)
    try:
        pid, problem = _spawn(command, (given, their_stdout, their_stderr))
    finally:
        for theirs in (given, their_stdout, their_stderr):
            os.close(theirs)
    return pid, {"stdout": stdout, "stderr": stderr}, problem


def _spawn(command: Command, streams: tuple[int, ...]) -> tuple[int, str]:
    """Starts a command that needs no set-up in its own process. Returns its id, and the problem.

    This does not copy this process's memory, which would take longer than everything else.
    """
    actions = [(os.POSIX_SPAWN_DUP2, theirs, descriptor) for descriptor, theirs in enumerate(streams)]
    try:
        os.chdir(command.directory)
        defaults = (signal.SIGPIPE, signal.SIGXFSZ)
        program = _find_program(command)
        pid = os.posix_spawn(program, command.argv, command.environment, file_actions=actions, setsid=True, setsigdef=defaults)
    except OSError as error:
        return _NO_PROCESS, _describe_problem(command, error)
    finally:
        # This program needs no directory, and must not stay in one that commands may remove.
        os.chdir("/")
    return pid, ""


def _describe_problem(command: Command, error: OSError) -> str:
    return f"{command.argv[0]} in {command.directory}: {error.strerror}"


def _start(command: Command, pipes: Pipes, watch: "Watch | None") -> int:
    pid = os.fork()
    if pid != 0:
        return pid
    # A descriptor beyond those that the command gets.
    problem = fcntl.fcntl(pipes.theirs[4], fcntl.F_DUPFD_CLOEXEC, _REPORT_DESCRIPTOR + 1)
    try:
        os.setsid()
        for descriptor, theirs in enumerate(pipes.theirs[:3]):
            os.dup2(theirs, descriptor)
        if command.has_report:
            _give_report(pipes.theirs[3])
        if command.alone:
            # Room for the first process and the command itself.
            resource.setrlimit(resource.RLIMIT_NPROC, (2, 2))
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.chdir(command.directory)
        if watch is not None:
            watch.become(_find_program(command), command.argv, command.environment)
        os.execvpe(command.argv[0], command.argv, command.environment)
    except OSError as error:
        os.write(problem, _describe_problem(command, error).encode("utf-8", "replace"))
    finally:
        os._exit(127)


def _find_program(command: Command) -> str:
    """Finds the program's file as execvpe(3) does."""
    name = command.argv[0]
    places = [""] if "/" in name else os.get_exec_path(command.environment)
    paths = (f"{place}/{name}" if place else name for place in places)
    path = next((each for each in paths if os.access(each, os.X_OK)), None)
    if path is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    return path


def _give_report(theirs: int) -> None:
    if theirs == _REPORT_DESCRIPTOR:
        os.set_inheritable(theirs, True)
    else:
        os.dup2(theirs, _REPORT_DESCRIPTOR)


def _read_all(descriptor: int) -> str:
    """Returns the child's message on a failed start; empty once it has become the command."""
    with os.fdopen(descriptor, "rb") as pipe:
        return pipe.read().decode("utf-8", "replace")


def _open_pipes(command: Command) -> Pipes:
    their_input, input_ = os.pipe()
    stdout, their_stdout = os.pipe()
    stderr, their_stderr = os.pipe()
    report = their_report = problem = their_problem = -1
    if command.has_report:
        report, their_report = (end.detach() for end in socketpair())
        os.set_blocking(report, False)
    if command.alone or command.watched:
        problem, their_problem = os.pipe()
    for own in (input_, stdout, stderr):
        os.set_blocking(own, False)
    return Pipes(input_, stdout, stderr, report, problem, (their_input, their_stdout, their_stderr, their_report, their_problem))


def _prepare_watch(numbers: list[int]) -> "Watch":
    from muster_workspace.watched_calls import Watch

    return Watch.prepare(numbers)

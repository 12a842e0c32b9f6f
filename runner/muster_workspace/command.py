"""Running one command: with an input, for a time, its output bounded, until nothing of it is left."""

import errno
import fcntl
import os
import resource
import selectors
import signal
import time
from _socket import socketpair
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

from muster_workspace import fields
from muster_workspace.channel import Channel, ProtocolError
from muster_workspace.forked_python import ForkedProgram, Interpreters
from muster_workspace.output import BoundedOutput
from muster_workspace.processes import Accounts, resident_bytes

# Few commands need what these do, and every sandbox would wait for it.
if TYPE_CHECKING:
    from muster_workspace.line import Line
    from muster_workspace.watched_calls import Watch

# Between two looks at the memory of all processes: shorter peaks of several processes together are not seen.
_SAMPLE_SECONDS = 0.01
_WRITE_BYTES = 1 << 16
_REPORT_DESCRIPTOR = 3
_NO_PROCESS = -1


class Command(NamedTuple):
    """A command to run."""

    argv: list[str]
    directory: str
    environment: dict[str, str]
    seconds: float
    head: int
    tail: int
    most: int
    """Bytes of output, of both streams together, after which it is ended."""
    reports: bool
    """Whether it gets a socket as descriptor 3: the path of a socket cannot be opened, so what comes out of it has come from its holder."""
    line: bool
    """Whether that socket is carried while it runs, in both directions, rather than read as an output."""
    alone: bool
    """Whether it may start neither processes nor threads."""
    watched: list[int]
    """System calls that it may not make."""
    forked: ForkedProgram | None
    """Present when it may be forked from an interpreter that has started already."""
    input: bytes

    @classmethod
    def read(cls, frame: fields.Frame, given: bytes) -> Self:
        """Take it from an `exec` frame, and its input from those before."""
        argv = fields.texts(frame, "argv")
        if not argv:
            raise ProtocolError("argv is empty")
        environment = fields.variables(frame, "environment")
        head, tail, most = (fields.whole(frame, name) for name in ("head", "tail", "most"))
        reports, line, alone = (fields.truth(frame, name) for name in ("reports", "line", "alone"))
        directory, seconds = fields.text(frame, "directory"), fields.number(frame, "seconds")
        watched = fields.wholes(frame, "watched")
        is_plain = not (reports or line or alone or watched)
        may_fork = is_plain and fields.truth(frame, "forks")
        forked = ForkedProgram.of(argv, directory, environment, fields.texts(frame, "modules")) if may_fork else None
        return cls(argv, directory, environment, seconds, head, tail, most, reports, line, alone, watched, forked, given)


class Pipes(NamedTuple):
    """This process's ends of a command's streams, and the end from which a failed start is read."""

    input: int
    stdout: int
    stderr: int
    report: int
    problem: int
    theirs: tuple[int, ...]
    """Input, output, error output, report and problem."""


class Beside(Protocol):
    """What runs on while a command runs."""

    def drain(self) -> None:
        """Take what it has printed."""

    def end_others(self, accounts: Accounts) -> bool:
        """End everything else. False when nothing runs on."""


class RunningCommand:
    """A command from its start to its end."""

    def __init__(self, command: Command, channel: Channel, request: int, interpreters: Interpreters, beside: Beside | None) -> None:
        self._command = command
        self._beside = beside
        self._interpreters = interpreters
        self._peak_bytes = 0
        pipes = _open_pipes()
        watch = _prepare_watch(command.watched) if command.watched else None
        streams = (pipes.theirs[0], pipes.theirs[1], pipes.theirs[2])
        self._start = time.monotonic()
        forked = interpreters.fork(command.forked, streams) if command.forked else None
        self._accounts = Accounts(but=interpreters.pid)
        self._is_forked, self._is_orphan = forked is not None, False
        self._pid, problem = (forked, "") if forked else _begin(command, pipes, watch)
        for theirs in pipes.theirs:
            os.close(theirs)
        self._calls = watch.accept() if watch else None
        self._problem = problem + _read_all(pipes.problem)
        descriptors = {"stdout": pipes.stdout, "stderr": pipes.stderr, "report": pipes.report}
        self._streams = {name: BoundedOutput(each, command.head, command.tail) for name, each in descriptors.items()}
        self._line = _make_line(channel, request, pipes.report) if command.line else None
        self._input = pipes.input
        self._left = memoryview(command.input)
        self._open = {pipes.stdout, pipes.stderr, pipes.report}
        self._selector = selectors.DefaultSelector()

    def run(self) -> tuple[dict[str, Any], dict[str, BoundedOutput]]:
        """Wait for the end. Returns what to say of it, and what it printed."""
        end = {"kind": "unstartable", "detail": self._problem[:8192]} if self._problem else self._watch()
        seconds = time.monotonic() - self._start
        if self._beside is None or not self._beside.end_others(self._accounts):
            self._interpreters.end_others(self._accounts)
        self._drain()
        for stream in self._streams.values():
            stream.finish()
        peak = max(self._peak_bytes, self._accounts.largest_bytes)
        if self._calls is not None:
            os.close(self._calls.descriptor)
        called = sorted(self._calls.numbers) if self._calls else []
        used = {"seconds": seconds, "cpuSeconds": self._accounts.cpu_seconds, "peakBytes": peak, "called": called}
        return {"end": end, **used}, self._streams

    def _watch(self) -> dict[str, Any]:
        """Serve the streams until the command ends, or is to be ended."""
        for name, stream in self._streams.items():
            if name != "report" or self._line is None:
                self._selector.register(stream.descriptor, selectors.EVENT_READ, stream)
        if self._line is not None:
            self._line.register(self._selector)
        if self._left:
            self._selector.register(self._input, selectors.EVENT_WRITE)
        else:
            self._end_input()
        if self._calls is not None:
            self._selector.register(self._calls.descriptor, selectors.EVENT_READ)
        # Of one that was forked the interpreter says how it ended.
        exited = os.dup(self._interpreters.descriptor) if self._is_forked else os.pidfd_open(self._pid)
        self._selector.register(exited, selectors.EVENT_READ)
        try:
            return self._serve(exited)
        finally:
            os.close(exited)
            self._selector.close()
            self._end_input()

    def _serve(self, exited: int) -> dict[str, Any]:
        deadline = self._start + self._command.seconds
        sample = self._start
        while True:
            now = time.monotonic()
            if now >= sample:
                self._peak_bytes = max(self._peak_bytes, resident_bytes(but=self._interpreters.pid))
                sample = now + _SAMPLE_SECONDS
            for key, events in self._selector.select(max(0.0, min(deadline, sample) - now)):
                if self._line is not None and key.data is self._line:
                    self._line.attend(key.fd, events, self._selector)
                else:
                    self._attend(key.fd, key.data)
            self._drain_beside()
            if self._line is not None and self._line.seconds is not None:
                deadline, self._line.seconds = min(deadline, now + self._line.seconds), None
            status = self._look_for_end(exited)
            if status is not None:
                return end_of(status)
            if sum(stream.total for stream in self._streams.values()) > self._command.most:
                return {"kind": "output-limit"}
            if time.monotonic() >= deadline:
                return {"kind": "timeout"}

    def _drain_beside(self) -> None:
        if self._beside is not None:
            self._beside.drain()

    def _look_for_end(self, exited: int) -> int | None:
        """The status with which it has ended, if it has."""
        self._accounts.reap()
        is_own = self._pid in self._accounts.statuses
        if not self._is_forked:
            return self._accounts.statuses.get(self._pid)
        if not self._is_orphan and not self._interpreters.hear(self._accounts):
            self._selector.unregister(exited)
            self._is_orphan = True
        if is_own or (self._is_orphan and not os.access(f"/proc/{self._pid}", os.F_OK)):
            # It has ended the interpreter, which may have known how it ended.
            return signal.SIGKILL
        return self._accounts.statuses.get(self._pid)

    def _attend(self, descriptor: int, stream: BoundedOutput | None) -> None:
        if stream is not None:
            if not stream.read():
                self._selector.unregister(descriptor)
                self._open.discard(descriptor)
                os.close(descriptor)
        elif self._calls is not None and descriptor == self._calls.descriptor:
            if not self._calls.answer():
                self._selector.unregister(descriptor)
        elif descriptor == self._input:
            try:
                self._left = self._left[os.write(descriptor, self._left[:_WRITE_BYTES]) :]
            except BlockingIOError:
                return
            except BrokenPipeError:
                self._left = memoryview(b"")
            if not self._left:
                self._selector.unregister(descriptor)
                self._end_input()

    def _end_input(self) -> None:
        if self._input >= 0:
            os.close(self._input)
            self._input = -1

    def _drain(self) -> None:
        """Read what is still in the pipes. No process writes there any more."""
        for stream in self._streams.values():
            if stream.descriptor in self._open:
                while stream.read():
                    pass
                os.close(stream.descriptor)
        self._end_input()


def _prepare_watch(numbers: list[int]) -> "Watch":
    from muster_workspace.watched_calls import Watch

    return Watch.prepare(numbers)


def _make_line(channel: Channel, request: int, descriptor: int) -> "Line":
    from muster_workspace.line import Line

    return Line(channel, request, descriptor)


def _open_pipes() -> Pipes:
    their_input, input_ = os.pipe()
    stdout, their_stdout = os.pipe()
    stderr, their_stderr = os.pipe()
    report, their_report = (end.detach() for end in socketpair())
    problem, their_problem = os.pipe()
    for own in (input_, stdout, stderr, report):
        os.set_blocking(own, False)
    return Pipes(input_, stdout, stderr, report, problem, (their_input, their_stdout, their_stderr, their_report, their_problem))


def _begin(command: Command, pipes: Pipes, watch: "Watch | None") -> tuple[int, str]:
    """Start a process of its own. Returns its id, and what has failed already."""
    if watch is None and not command.alone:
        return _spawn(command, pipes.theirs[:4] if command.reports or command.line else pipes.theirs[:3])
    return _start(command, pipes, watch), ""


def begin_detached(command: Command) -> tuple[int, dict[str, int], str]:
    """Start a command that runs on. Returns its id, its streams, from which reading does not block, and what has failed."""
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
    """Start a command of which nothing has to be done in its own process. Returns its id, and what has failed.

    This process's memory is not copied for it, which takes longer than all the rest.
    """
    actions = [(os.POSIX_SPAWN_DUP2, theirs, descriptor) for descriptor, theirs in enumerate(streams)]
    before = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.chdir(command.directory)
        defaults = (signal.SIGPIPE, signal.SIGXFSZ)
        pid = os.posix_spawn(_found(command), command.argv, command.environment, file_actions=actions, setsid=True, setsigdef=defaults)
    except OSError as error:
        return _NO_PROCESS, _problem_of(command, error)
    finally:
        os.fchdir(before)
        os.close(before)
    return pid, ""


def _problem_of(command: Command, error: OSError) -> str:
    return f"{command.argv[0]} in {command.directory}: {error.strerror}"


def _start(command: Command, pipes: Pipes, watch: "Watch | None") -> int:
    pid = os.fork()
    if pid != 0:
        return pid
    # Beyond the descriptors that the command is given.
    problem = fcntl.fcntl(pipes.theirs[4], fcntl.F_DUPFD_CLOEXEC, _REPORT_DESCRIPTOR + 1)
    try:
        os.setsid()
        for descriptor, theirs in enumerate(pipes.theirs[:3]):
            os.dup2(theirs, descriptor)
        if command.reports or command.line:
            _give_report(pipes.theirs[3])
        if command.alone:
            # The first process, and the command itself.
            resource.setrlimit(resource.RLIMIT_NPROC, (2, 2))
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.chdir(command.directory)
        if watch is not None:
            watch.become(_found(command), command.argv, command.environment)
        os.execvpe(command.argv[0], command.argv, command.environment)
    except OSError as error:
        os.write(problem, _problem_of(command, error).encode("utf-8", "replace"))
    finally:
        os._exit(127)


def _found(command: Command) -> str:
    """The program's file, as execvpe(3) looks for it."""
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
    """What the child says of a failed start; nothing once it has become the command."""
    with os.fdopen(descriptor, "rb") as pipe:
        return pipe.read().decode("utf-8", "replace")


def end_of(status: int) -> dict[str, Any]:
    """How a process ended, as Muster is told."""
    if os.WIFSIGNALED(status):
        return {"kind": "signalled", "signal": os.WTERMSIG(status)}
    return {"kind": "exited", "code": os.WEXITSTATUS(status)}

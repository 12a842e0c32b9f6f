"""Python programs that are forked from an interpreter which has started: a process for each run, without the time of a start."""

import contextlib
import os
import select
import signal

# Without the enumerations of the module socket, which take longer to make than all the rest here.
from _socket import AF_UNIX, SCM_RIGHTS, SOCK_SEQPACKET, SOL_SOCKET, socket, socketpair
from array import array
from typing import TYPE_CHECKING

from muster_workspace.forked_program import ForkedProgram
from muster_workspace.linux import scheduling_of
from muster_workspace.processes import Accounts, end_all, end_one, is_alone_with, read_proc, remove_all_ipc
from muster_workspace.warm import describe_wanted, is_like_warm

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = "/muster/runner/forked_python.py"
_START_SECONDS = 60.0
# A live process answers in a millisecond, and on an overloaded machine much later.
_FORK_SECONDS = 30.0


class Interpreters:
    """At most one interpreter that programs are forked from.

    Programs run as its user: they can end it, stop it and lower its limits. It forks a process only while no program runs, and only
    if its state is unchanged since its start; otherwise a new interpreter replaces it.
    """

    def __init__(self, writable: tuple[str, ...], asking: int | None = None) -> None:
        self._writable = writable
        self._asking = asking
        """Where one that has started can be asked for, once."""
        self._current: _Interpreter | None = None
        self._unfit: list[ForkedProgram] = []

    @property
    def pid(self) -> int | None:
        """The process id of the present interpreter."""
        return self._current.pid if self._current else None

    def fork(self, program: ForkedProgram, streams: tuple[int, int, int]) -> int | None:
        """Start a program. Returns its process id; None when the caller has to start it without a fork."""
        for interpreter in self._offer(program):
            pid = interpreter.fork(program, streams)
            if pid is not None:
                return pid
        return None

    def fork_in_turn(self, program: ForkedProgram, runs: list[list[str]], streams: list[int]) -> bool:
        """Start a program with each of these arguments, one after the other, if it can be forked. Each has three of the streams."""
        order = program.order(runs)
        return order is not None and any(interpreter.send(order, streams) for interpreter in self._offer(program))

    def _offer(self, program: ForkedProgram) -> "Iterator[_Interpreter]":
        """The interpreter that there is, if the program may be forked from it, then a new one. One that could not do it is ended."""
        if not os.path.isdir(program.directory):
            return
        if self._current is not None and self._current.program.has_same_interpreter(program) and self._current.is_unchanged():
            yield self._current
        self._end()
        started = self._start(program)
        if started is not None:
            yield started
            self._end()

    def receive_in_turn(self, seconds: float) -> bytes | None:
        """What the interpreter says of the runs that it starts one after the other: how the next has ended; `over` after the last.

        None when it says nothing for so long, nothing when it has ended.
        """
        return b"" if self._current is None else self._current.receive(seconds)

    def end_everything(self, accounts: Accounts) -> None:
        """Kill and reap every process but this one. Raises Remaining."""
        self._forget()
        end_all(accounts)

    @property
    def descriptor(self) -> int:
        """Becomes readable when the forked program or the interpreter has ended."""
        if self._current is None:
            raise RuntimeError("no program was forked")
        return self._current.orders.fileno()

    def receive(self, accounts: Accounts) -> bool:
        """Read the interpreter's report on the end of the program that it forked. False when no report will come.

        The program may have ended it: then how the program ended is not known for certain, and counts as killed.
        """
        return self._current is not None and self._current.receive_end(accounts)

    def end_others(self, accounts: Accounts) -> None:
        """Kill and reap every process but this one and the interpreter, and remove what processes leave in the kernel. Raises Remaining."""
        current = self._current
        if current is None:
            self.end_everything(accounts)
            return
        accounts.reap()
        if current.is_at_rest(accounts) and is_alone_with(current.pid) and current.is_there():
            remove_all_ipc()
            return
        # One signal for all, so that none escapes by starting another. It is for the interpreter, too.
        self.end_everything(accounts)

    def _end(self) -> None:
        current = self._forget()
        if current is not None:
            end_one(current.pid)

    def _forget(self) -> "_Interpreter | None":
        current, self._current = self._current, None
        if current is not None:
            current.close()
        return current

    def _start(self, program: ForkedProgram) -> "_Interpreter | None":
        if any(program.has_same_interpreter(each) for each in self._unfit):
            return None
        path = _find_interpreter(program, self._writable)
        self._current = None if path is None else self._take_warm(path, program) or _Interpreter.start(path, program)
        if self._current is None:
            self._unfit.append(program)
        return self._current

    def _take_warm(self, path: str, program: ForkedProgram) -> "_Interpreter | None":
        """The first that is needed, where one like it has started elsewhere."""
        if self._asking is None or not is_like_warm(path, program):
            return None
        orders, self._asking = socket(fileno=self._asking), None
        return _Interpreter.adopt(orders, program)


class _Interpreter:
    def __init__(self, program: ForkedProgram, pid: int, descriptor: int, orders: socket) -> None:
        self.program = program
        self.pid = pid
        self.descriptor = descriptor
        """Of the process: another that got its number would not be taken for it."""
        self.orders = orders
        self.state: tuple[object, ...] = ()
        self._program: int | None = None
        """The process of the program whose end it has not told yet."""

    @classmethod
    def start(cls, path: str, program: ForkedProgram) -> "_Interpreter | None":
        """None when it cannot be forked from."""
        ours, theirs = socketpair(AF_UNIX, SOCK_SEQPACKET)
        pid = _spawn_interpreter(path, program, theirs.fileno())
        theirs.close()
        if pid is None:
            ours.close()
            return None
        try:
            descriptor = os.pidfd_open(pid)
        except OSError:
            # Older versions of gVisor have no such descriptors.
            ours.close()
            end_one(pid)
            return None
        interpreter = cls(program, pid, descriptor, ours)
        with contextlib.suppress(OSError):
            if interpreter._receive(_START_SECONDS) == b"ready":
                interpreter.state = _read_state(pid)
                return interpreter
        interpreter.close()
        end_one(pid)
        return None

    @classmethod
    def adopt(cls, orders: socket, program: ForkedProgram) -> "_Interpreter | None":
        """The one that is forked where these orders lead, for the program; None when none is."""
        with contextlib.suppress(OSError):
            orders.send(describe_wanted(program))
            said = orders.recv(4096) if select.select([orders], [], [], _START_SECONDS)[0] else b""
            if said.startswith(b"ready "):
                pid = int(said.split()[1])
                interpreter = cls(program, pid, os.pidfd_open(pid), orders)
                interpreter.state = _read_state(pid)
                return interpreter
        orders.close()
        return None

    def is_unchanged(self) -> bool:
        """Whether it is there, waits, and may use what it could use in the beginning."""
        try:
            return self.is_there() and _can_run(self.pid) and _read_state(self.pid) == self.state
        except OSError:
            return False

    def fork(self, program: ForkedProgram, streams: tuple[int, int, int]) -> int | None:
        order = program.order([[]])
        if order is None or not self.send(order, list(streams)):
            return None
        answer = self._receive(_FORK_SECONDS)
        self._program = int(answer) if answer.isdigit() else None
        return self._program

    def send(self, order: bytes, streams: list[int]) -> bool:
        """False when it is gone."""
        try:
            self.orders.sendmsg([order], [(SOL_SOCKET, SCM_RIGHTS, array("i", streams))])
        except OSError:
            return False
        return True

    def receive(self, seconds: float) -> bytes | None:
        """None when nothing comes for so long."""
        return self._receive(0) if select.select([self.orders], [], [], seconds)[0] else None

    def receive_end(self, accounts: Accounts) -> bool:
        """False when it is gone. One that is stopped would never say anything, and is ended."""
        if self._program is None:
            return True
        if not select.select([self.orders], [], [], 0)[0]:
            with contextlib.suppress(OSError):
                if not _can_run(self.pid):
                    os.kill(self.pid, signal.SIGKILL)
                    return False
            return True
        said = self._receive(0).split()
        if not said:
            return False
        status, seconds, kibibytes = said
        accounts.add(self._program, int(status), float(seconds), int(kibibytes) * 1024)
        self._program = None
        return True

    def is_at_rest(self, accounts: Accounts) -> bool:
        """Whether it has told the end of every program."""
        return self.receive_end(accounts) and self._program is None

    def is_there(self) -> bool:
        """Whether it has not ended."""
        return not select.select([self.descriptor], [], [], 0)[0]

    def close(self) -> None:
        self.orders.close()
        os.close(self.descriptor)

    def _receive(self, seconds: float) -> bytes:
        if not select.select([self.orders], [], [], seconds)[0]:
            return b""
        with contextlib.suppress(OSError):
            return self.orders.recv(4096)
        return b""


def _spawn_interpreter(path: str, program: ForkedProgram, orders: int) -> int | None:
    """Returns its process id; None when it cannot be started. This process's memory is not copied for it."""
    null, before = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC), os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    # It takes its orders after the standard streams.
    actions = [(os.POSIX_SPAWN_DUP2, theirs, descriptor) for descriptor, theirs in enumerate((null, null, null, orders))]
    argv, environment = [*program.interpreter, PROGRAM, *program.modules], dict(program.environment)
    try:
        os.chdir("/")
        return os.posix_spawn(path, argv, environment, file_actions=actions, setsid=True, setsigdef=(signal.SIGPIPE, signal.SIGXFSZ))
    except OSError:
        return None
    finally:
        os.fchdir(before)
        os.close(before)
        os.close(null)


def _find_interpreter(program: ForkedProgram, writable: tuple[str, ...]) -> str | None:
    """The interpreter's file, as execvpe(3) looks for it; None where a program could have put another in its place."""
    name = program.interpreter[0]
    places = [""] if "/" in name else [f"{place}/" for place in os.get_exec_path(dict(program.environment))]
    found = next((path for path in (f"{place}{name}" for place in places) if os.access(path, os.X_OK)), None)
    if found is None or not found.startswith("/"):
        return None
    of_programs = any(path.startswith(f"{base}/") for path in (found, os.path.realpath(found)) for base in writable)
    return None if of_programs else found


def _can_run(pid: int) -> bool:
    """Whether it is neither stopped nor dead."""
    return read_proc(f"{pid}/stat").rpartition(b")")[2].split()[0] not in b"TtZXx"


def _read_state(pid: int) -> tuple[object, ...]:
    """All that another process of the same user can change of it. Raises OSError."""
    return read_proc(f"{pid}/limits"), *scheduling_of(pid), frozenset(os.sched_getaffinity(pid))

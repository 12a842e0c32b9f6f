"""An interpreter that is running, and forks a process for each run of a Python program."""

import contextlib
import os
import select
import signal

# `socket` creates enumerations when it is imported, which take longer than all other imports here.
from _socket import AF_UNIX, SCM_RIGHTS, SOCK_SEQPACKET, SOL_SOCKET, socket, socketpair
from array import array

from muster_workspace.forked_program import ForkedProgram
from muster_workspace.linux import read_scheduling
from muster_workspace.processes import Accounts, end_one, read_proc
from muster_workspace.warm import describe_wanted

PROGRAM = "/muster/runner/forked_python.py"
_START_SECONDS = 60.0
# A live process answers in a millisecond, and on an overloaded machine much later.
_FORK_SECONDS = 30.0


class Interpreter:
    """A process that runs runner/forked_python.py, and the socket that carries orders to it and reports from it."""

    def __init__(self, program: ForkedProgram, pid: int, descriptor: int, orders: socket, state: tuple[object, ...]) -> None:
        self.program = program
        self.pid = pid
        self._descriptor = descriptor
        """A pidfd, which never refers to another process that gets the same number later."""
        self.orders = orders
        self._state = state
        """The result of `_read_state` at its start."""
        self._program: int | None = None
        """The process of the program whose end has not been reported yet."""

    @classmethod
    def start(cls, path: str, program: ForkedProgram) -> "Interpreter | None":
        """Starts an interpreter. Returns None if programs cannot be forked from it."""
        ours, theirs = socketpair(AF_UNIX, SOCK_SEQPACKET)
        pid = _spawn_interpreter(path, program, theirs.fileno())
        theirs.close()
        if pid is None:
            ours.close()
            return None
        try:
            descriptor = os.pidfd_open(pid)
        except OSError:
            # Older versions of gVisor have no pidfds.
            ours.close()
            end_one(pid)
            return None
        with contextlib.suppress(OSError):
            if _receive(ours, _START_SECONDS) == b"ready":
                return cls(program, pid, descriptor, ours, _read_state(pid))
        os.close(descriptor)
        ours.close()
        end_one(pid)
        return None

    @classmethod
    def adopt(cls, orders: socket, program: ForkedProgram) -> "Interpreter | None":
        """Requests an interpreter that is forked from a warm one. Returns None if there is none for the program."""
        with contextlib.suppress(OSError):
            orders.send(describe_wanted(program))
            answer = _receive(orders, _START_SECONDS)
            if answer.startswith(b"ready "):
                pid = int(answer.split()[1])
                state = _read_state(pid)
                return cls(program, pid, os.pidfd_open(pid), orders, state)
        orders.close()
        return None

    def is_unchanged(self) -> bool:
        """Returns whether it runs, and has the same limits and scheduling as at its start."""
        try:
            return self.is_there() and _can_run(self.pid) and _read_state(self.pid) == self._state
        except OSError:
            return False

    def fork(self, program: ForkedProgram, streams: tuple[int, int, int]) -> int | None:
        order = program.order([[]])
        if order is None or not self.send(order, list(streams)):
            return None
        answer = _receive(self.orders, _FORK_SECONDS)
        self._program = int(answer) if answer.isdigit() else None
        return self._program

    def send(self, order: bytes, streams: list[int]) -> bool:
        """Sends an order. Returns False if the interpreter has ended."""
        try:
            self.orders.sendmsg([order], [(SOL_SOCKET, SCM_RIGHTS, array("i", streams))])
        except OSError:
            return False
        return True

    def receive(self, seconds: float) -> bytes | None:
        """Returns the next report; None if none arrives in this time; empty bytes if the interpreter has ended."""
        return _receive(self.orders, 0) if select.select([self.orders], [], [], seconds)[0] else None

    def receive_end(self, accounts: Accounts) -> bool:
        """Reads the report on the end of the program. Returns False if the interpreter has ended. Ends a stopped interpreter, which would
        never report.
        """
        if self._program is None:
            return True
        if not select.select([self.orders], [], [], 0)[0]:
            with contextlib.suppress(OSError):
                if not _can_run(self.pid):
                    os.kill(self.pid, signal.SIGKILL)
                    return False
            return True
        report = _receive(self.orders, 0).split()
        if not report:
            return False
        status, seconds, kibibytes = report
        accounts.add(self._program, int(status), float(seconds), int(kibibytes) * 1024)
        self._program = None
        return True

    def is_at_rest(self, accounts: Accounts) -> bool:
        """Returns whether it has reported the end of every program."""
        return self.receive_end(accounts) and self._program is None

    def is_there(self) -> bool:
        """Returns whether it has not ended."""
        return not select.select([self._descriptor], [], [], 0)[0]

    def close(self) -> None:
        self.orders.close()
        os.close(self._descriptor)


def _receive(orders: socket, seconds: float) -> bytes:
    """Returns a report; empty bytes if none arrives in this time, or the interpreter has ended."""
    with contextlib.suppress(OSError):
        if select.select([orders], [], [], seconds)[0]:
            return orders.recv(4096)
    return b""


def _spawn_interpreter(path: str, program: ForkedProgram, orders: int) -> int | None:
    """Starts an interpreter without copying this process's memory. Returns its process id; None if it cannot be started."""
    null, before = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC), os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    # It gets its orders on the descriptor after the standard streams.
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


def _can_run(pid: int) -> bool:
    """Returns whether the process is neither stopped nor dead."""
    return read_proc(f"{pid}/stat").rpartition(b")")[2].split()[0] not in b"TtZXx"


def _read_state(pid: int) -> tuple[object, ...]:
    """Returns the properties of a process that others of the same user can change: limits and scheduling. Raises OSError."""
    return read_proc(f"{pid}/limits"), *read_scheduling(pid), frozenset(os.sched_getaffinity(pid))

"""Keeps the interpreter from which Python programs are forked, so that a run needs no start of an interpreter."""

import os

# `socket` creates enumerations when it is imported, which take longer than all other imports here.
from _socket import socket
from typing import TYPE_CHECKING

from muster_workspace.forked_program import ForkedProgram
from muster_workspace.interpreter import Interpreter
from muster_workspace.processes import Accounts, end_all, end_one, is_alone_with, remove_all_ipc
from muster_workspace.warm import is_like_warm

if TYPE_CHECKING:
    from collections.abc import Iterator


class Interpreters:
    """At most one interpreter from which programs are forked.

    Programs run as the same user as the interpreter: they can end it, stop it and lower its limits. It forks a process only while no
    program runs, and only if its state is unchanged since its start. Otherwise a new interpreter replaces it.
    """

    def __init__(self, writable: tuple[str, ...], asking: int | None = None) -> None:
        self._writable = writable
        self._asking = asking
        """A socket on which a warm interpreter can be requested, once."""
        self._current: Interpreter | None = None
        self._unfit: list[ForkedProgram] = []

    @property
    def pid(self) -> int | None:
        """The process id of the present interpreter."""
        return self._current.pid if self._current else None

    def fork(self, program: ForkedProgram, streams: tuple[int, int, int]) -> int | None:
        """Starts a program. Returns its process id; None if the caller has to start it without a fork."""
        for interpreter in self._offer(program):
            pid = interpreter.fork(program, streams)
            if pid is not None:
                return pid
        return None

    def fork_in_turn(self, program: ForkedProgram, runs: list[list[str]], streams: list[int]) -> bool:
        """Starts a program once for each list of arguments, in order. Each run gets three of the streams. Returns False if it cannot be
        forked.
        """
        order = program.order(runs)
        return order is not None and any(interpreter.send(order, streams) for interpreter in self._offer(program))

    def _offer(self, program: ForkedProgram) -> "Iterator[Interpreter]":
        """Yields the present interpreter, if it suits the program, then a new one. An interpreter that cannot fork the program is ended."""
        if not os.path.isdir(program.directory):  # noqa: PTH112 -- pathlib costs memory in every sandbox
            return
        if self._current is not None and self._current.program.has_same_interpreter(program) and self._current.is_unchanged():
            yield self._current
        self._end()
        started = self._start(program)
        if started is not None:
            yield started
            self._end()

    def receive_in_turn(self, seconds: float) -> bytes | None:
        """Returns the interpreter's next message on the runs of `fork_in_turn`: how a run has ended, or `over` after the last.

        Returns None if no message arrives in this time; empty bytes if the interpreter has ended.
        """
        return b"" if self._current is None else self._current.receive(seconds)

    def end_everything(self, accounts: Accounts) -> None:
        """Kills and reaps every process but this one. Raises Remaining."""
        self._forget()
        end_all(accounts)

    @property
    def descriptor(self) -> int:
        """Becomes readable when the forked program or the interpreter has ended."""
        if self._current is None:
            raise RuntimeError("no program was forked")
        return self._current.orders.fileno()

    def receive(self, accounts: Accounts) -> bool:
        """Reads the interpreter's report on the end of the program that it forked. Returns False when no report will arrive.

        The program may have ended the interpreter. Then the program counts as killed, because its own end is not known for certain.
        """
        return self._current is not None and self._current.receive_end(accounts)

    def end_others(self, accounts: Accounts) -> None:
        """Kills and reaps every process but this one and the interpreter, and removes the kernel objects that processes leave. Raises
        Remaining.
        """
        current = self._current
        if current is None:
            self.end_everything(accounts)
            return
        accounts.reap()
        if current.is_at_rest(accounts) and is_alone_with(current.pid) and current.is_there():
            remove_all_ipc()
            return
        # One signal ends all processes, so that none escapes by starting another. It also ends the interpreter.
        self.end_everything(accounts)

    def _end(self) -> None:
        current = self._forget()
        if current is not None:
            end_one(current.pid)

    def _forget(self) -> "Interpreter | None":
        current, self._current = self._current, None
        if current is not None:
            current.close()
        return current

    def _start(self, program: ForkedProgram) -> "Interpreter | None":
        if any(program.has_same_interpreter(each) for each in self._unfit):
            return None
        path = _find_interpreter(program, self._writable)
        self._current = None if path is None else self._take_warm(path, program) or Interpreter.start(path, program)
        if self._current is None:
            self._unfit.append(program)
        return self._current

    def _take_warm(self, path: str, program: ForkedProgram) -> "Interpreter | None":
        """Requests an interpreter that is forked from a warm one outside of the sandbox; only the first interpreter can be."""
        if self._asking is None or not is_like_warm(path, program):
            return None
        orders, self._asking = socket(fileno=self._asking), None
        return Interpreter.adopt(orders, program)


def _find_interpreter(program: ForkedProgram, writable: tuple[str, ...]) -> str | None:
    """Finds the interpreter's file as execvpe(3) does. Returns None if a program could have replaced the file."""
    name = program.interpreter[0]
    places = [""] if "/" in name else [f"{place}/" for place in os.get_exec_path(dict(program.environment))]
    found = next((path for path in (f"{place}{name}" for place in places) if os.access(path, os.X_OK)), None)
    if found is None or not found.startswith("/"):
        return None
    of_programs = any(path.startswith(f"{base}/") for path in (found, os.path.realpath(found)) for base in writable)
    return None if of_programs else found

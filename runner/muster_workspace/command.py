"""Reads a command from Muster's frame, and describes its end for Muster."""

import os
from typing import Any, NamedTuple, Self

from muster_workspace import fields
from muster_workspace.channel import ProtocolError
from muster_workspace.forked_program import ForkedProgram

# Stands for a program: the Python that runs this one.
_OWN_PYTHON = "muster:python"


class Command(NamedTuple):
    """A command to run."""

    argv: list[str]
    directory: str
    environment: dict[str, str]
    seconds: float
    head: int
    tail: int
    most: int
    """The number of bytes of output, of both streams together, after which it is ended."""
    reports: bool
    """Whether it gets a socket as descriptor 3. No other process can open that socket by a path, so only the command and processes that it
    gave the socket to can write to it.
    """
    line: bool
    """Whether that socket is connected to Muster while the command runs, in both directions, instead of being read as an output."""
    alone: bool
    """Whether it may start neither processes nor threads."""
    sampled: bool
    """Whether the memory of all its processes together is measured while it runs."""
    watched: list[int]
    """The numbers of system calls that it may not make."""
    forked: ForkedProgram | None
    """The program, if it may be forked from a running interpreter."""
    input: bytes

    @classmethod
    def read(cls, frame: fields.Frame, given: bytes) -> Self:
        """Reads it from an `exec` frame, and its input from the frames before."""
        argv = fields.texts(frame, "argv")
        if not argv:
            raise ProtocolError("argv is empty")
        if argv[0] == _OWN_PYTHON:
            argv = [*_list_own_command(), *argv[1:]]
        environment = fields.variables(frame, "environment")
        head, tail, most = (fields.whole(frame, name) for name in ("head", "tail", "most"))
        reports, line, alone, sampled = (fields.truth(frame, name) for name in ("reports", "line", "alone", "sampled"))
        directory, seconds = fields.text(frame, "directory"), fields.number(frame, "seconds")
        watched = fields.wholes(frame, "watched")
        is_plain = not (reports or line or alone or watched)
        may_fork = is_plain and fields.truth(frame, "forks")
        forked = ForkedProgram.of(argv, directory, environment, fields.texts(frame, "modules")) if may_fork else None
        return cls(argv, directory, environment, seconds, head, tail, most, reports, line, alone, sampled, watched, forked, given)

    @property
    def has_report(self) -> bool:
        """Whether it gets a socket as descriptor 3."""
        return self.reports or self.line

    def on(self, arguments: list[str], given: bytes, seconds: float) -> Self:
        """Returns the same command with further arguments, another input and other seconds."""
        forked = None if self.forked is None else self.forked.on(arguments)
        return self._replace(argv=[*self.argv, *arguments], input=given, seconds=seconds, forked=forked)


def describe_end(status: int) -> dict[str, Any]:
    """Describes the end of a process for Muster."""
    if os.WIFSIGNALED(status):
        return {"kind": "signalled", "signal": os.WTERMSIG(status)}
    return {"kind": "exited", "code": os.WEXITSTATUS(status)}


def _list_own_command() -> list[str]:
    """Returns the command line that started this interpreter, loader and flags included, up to its program."""
    # Few commands need pathlib, and the import would cost time in every sandbox.
    from pathlib import Path

    words = [os.fsdecode(word) for word in Path("/proc/self/cmdline").read_bytes().split(b"\0")]
    return words[: next(i for i, word in enumerate(words) if word.endswith(".py"))]

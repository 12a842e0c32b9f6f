"""A command, as Muster asks for it, and how it ended, as Muster reads it."""

import os
from typing import Any, NamedTuple, Self

from muster_workspace import fields
from muster_workspace.channel import ProtocolError
from muster_workspace.forked_program import ForkedProgram

# In place of a program: the interpreter that runs this one.
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
    """Bytes of output, of both streams together, after which it is ended."""
    reports: bool
    """Whether it gets a socket as descriptor 3: the path of a socket cannot be opened, so what comes out of it has come from its holder."""
    line: bool
    """Whether that socket is carried while it runs, in both directions, rather than read as an output."""
    alone: bool
    """Whether it may start neither processes nor threads."""
    sampled: bool
    """Whether the memory of all its processes together is looked at while it runs."""
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
        """The same with further arguments, another input and other seconds."""
        forked = None if self.forked is None else self.forked.on(arguments)
        return self._replace(argv=[*self.argv, *arguments], input=given, seconds=seconds, forked=forked)


def end_of(status: int) -> dict[str, Any]:
    """How a process ended, as Muster reads it."""
    if os.WIFSIGNALED(status):
        return {"kind": "signalled", "signal": os.WTERMSIG(status)}
    return {"kind": "exited", "code": os.WEXITSTATUS(status)}


def _list_own_command() -> list[str]:
    """How this interpreter was started, loader and flags included, up to its program."""
    # Few commands need it, and every sandbox would wait for it.
    from pathlib import Path

    words = [os.fsdecode(word) for word in Path("/proc/self/cmdline").read_bytes().split(b"\0")]
    return words[: next(i for i, word in enumerate(words) if word.endswith(".py"))]

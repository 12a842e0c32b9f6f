"""Decides which commands are Python programs that may be forked from an interpreter."""

import os
import re
from typing import NamedTuple

# Flags that may precede the program. With -I, Python imports nothing from the user's or the program's directory, and reads no PYTHON….
_FLAGS = re.compile(r"-[BEIOPSbdqsu]+")
_ORDER_BYTES = 1 << 16
# Prefixes of variables that an isolated Python ignores.
_OF_PROGRAMS = ("MUSTER_", "PYTHON")


class ForkedProgram(NamedTuple):
    """A Python program, and the interpreter that it may be forked from."""

    interpreter: tuple[str, ...]
    """The command line of the interpreter, without its program."""
    words: tuple[str, ...]
    """The program and its arguments."""
    directory: str
    environment: tuple[tuple[str, str], ...]
    """The environment variables of the interpreter."""
    variables: tuple[str, ...]
    """The other variables of the program, as name=value. An isolated interpreter ignores them."""
    modules: tuple[str, ...]

    @classmethod
    def of(cls, argv: list[str], directory: str, environment: dict[str, str], modules: list[str]) -> "ForkedProgram | None":
        """Reads a command. Returns None unless it is a Python program whose interpreter is isolated from it."""
        flags = 1
        while flags < len(argv) and _FLAGS.fullmatch(argv[flags]):
            flags += 1
        interpreter, words = argv[:flags], argv[flags:]
        isolated = any("I" in flag for flag in interpreter[1:])
        named = re.fullmatch(r"python3?(\.\d+)?", argv[0].rpartition("/")[2])
        if not named or not isolated or not words or words[0].startswith("-") or not words[0].endswith(".py"):
            return None
        own = {name: value for name, value in environment.items() if name.startswith(_OF_PROGRAMS)}
        rest = tuple(sorted((name, value) for name, value in environment.items() if name not in own))
        variables = tuple(f"{name}={value}" for name, value in own.items())
        return cls(tuple(interpreter), tuple(words), directory, rest, variables, tuple(modules)).if_it_fits()

    def on(self, arguments: list[str]) -> "ForkedProgram | None":
        """Returns the same program with further arguments; None when it has to be started by itself."""
        return self._replace(words=(*self.words, *arguments)).if_it_fits() if arguments else self

    def if_it_fits(self) -> "ForkedProgram | None":
        """Returns this program; None when its request would be too long."""
        words = (self.directory, *self.words, *(word for pair in self.environment for word in pair), *self.variables)
        return self if sum(len(word) + 1 for word in words) <= _ORDER_BYTES // 4 else None

    def order(self, runs: list[list[str]]) -> bytes | None:
        """Builds the request to the interpreter for a run with each of these further arguments. Returns None when it would be too long."""
        programs = [[*self.words, *arguments] for arguments in runs]
        words = [self.directory, *(word for part in [list(self.variables), *programs] for word in (str(len(part)), *part))]
        order = b"\0".join(os.fsencode(word) for word in words)
        return order if len(order) <= _ORDER_BYTES else None

    def has_same_interpreter(self, other: "ForkedProgram") -> bool:
        return (self.interpreter, self.environment, self.modules) == (other.interpreter, other.environment, other.modules)

"""Describes exceptions for people."""

import errno
import importlib.util
import re
import reprlib
import sys
import traceback
from pathlib import Path

from muster_runner.carried_code import strip_directories
from muster_runner.frames import shorten

OWN_FILES = Path(__file__).parent
IMPORT_FILES = Path(importlib.util.__file__).parent


class ReportedFailure(Exception):
    """An exception that was raised, and described, in another process."""

    def __init__(self, text: str, is_out_of_memory: bool = False) -> None:
        super().__init__(text)
        self.is_out_of_memory = is_out_of_memory


class EnvironmentFault(Exception):
    """A fault of the environment, also when other code detects it."""


def describe(error: BaseException) -> str:
    """Describes an exception in one line: the exception, then its place. Paths of a suite's or checkpoint's files are relative to it.

    Frames of the runner itself and of Python's import system are left out.
    """
    if isinstance(error, ReportedFailure | EnvironmentFault):
        return shorten(str(error))
    lines = traceback.format_exception_only(error)
    # A syntax error has no frame in its own file. File, line and source come before the message, indented.
    message = next((position for position, line in enumerate(lines) if not line.startswith(" ")), 0)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not _is_machinery(frame.filename)]
    place = "".join([*traceback.format_list(frames), *lines[:message]]).rstrip()
    summary = "".join(lines[message:]).strip()
    return shorten(strip_directories(f"{summary}\n{place}" if place else summary))


def describe_environment(error: BaseException) -> str:
    """Describes an environment's exception. When the runner could not use a value, the runner's own line says what was expected."""
    boundary = _name_boundary(error)
    if boundary is not None:
        summary, _, place = describe(error).partition("\n")
        return shorten(f"{summary}\n{boundary}\n{place}".rstrip())
    frames = traceback.extract_tb(error.__traceback__)
    line = frames[-1].line if frames and Path(frames[-1].filename).is_relative_to(OWN_FILES) else None
    if not line or line.startswith("raise"):
        return describe(error)
    return shorten(f"{describe(error)}\nin the runner, which takes what the environment gives: {line}")


def describe_load(error: BaseException) -> str:
    """Describes an exception of a load, with the remedy when a package is missing."""
    boundary = _name_boundary(error)
    if boundary is not None:
        return f"{describe(error)}\n{boundary}"
    name = error.name.partition(".")[0] if isinstance(error, ModuleNotFoundError) and error.name else None
    if name is None or name in sys.modules or importlib.util.find_spec(name) is not None:
        return describe(error)
    return f"{describe(error)}\nif a package of that name is what is missing, {describe_installation(name)}"


def _name_boundary(error: BaseException) -> str | None:
    """Returns the restriction of sandboxes that an error is about, in words; None for other errors. The module socket is not imported for
    it, because imports cost memory in all sandboxes.
    """
    if isinstance(error, FileNotFoundError) and Path(str(error.filename)).is_absolute():
        return "a sandbox has the files of suite and checkpoint, and nothing else of the machine's (docs/suites.md)"
    seen: BaseException | None = error
    while seen is not None:
        if type(seen).__name__ == "gaierror" or (isinstance(seen, OSError) and seen.errno == errno.ENETUNREACH):
            return "a sandbox has no network (docs/sandboxes.md)"
        seen = seen.__cause__ or seen.__context__
    return None


def describe_reward(reward: object) -> str:
    return f"step() gave a reward that is {type(reward).__name__}: {reprlib.repr(reward)}; expected a number"


def describe_extra(error: BaseException) -> str:
    """Returns the remedy for a missing extra of Gymnasium: the command that installs it for this interpreter. Empty for other errors."""
    asked = re.search(r"gymnasium\[[\w,-]+\]", str(error))
    return f"; {describe_installation(repr(asked[0]))}" if asked else ""


def describe_installation(*packages: str) -> str:
    """Returns `install it there: COMMAND`. The command names this interpreter, because a person has to run it outside of the sandbox."""
    return f"install it there: {sys.executable} -m pip install {' '.join(packages)}"


def _is_machinery(filename: str) -> bool:
    return (
        filename.startswith("<frozen importlib") or Path(filename).is_relative_to(OWN_FILES) or Path(filename).is_relative_to(IMPORT_FILES)
    )

"""Decides which interpreters can be forked from a warm one outside of the sandbox (muster_zygote/warm_interpreters.py)."""

import os

from muster_workspace.forked_program import ForkedProgram

_PATH, _FLAGS = "/usr/bin/python3", ("-I",)
# Variables that neither an isolated interpreter nor its own modules read when they start, so they can be set later.
_LATER = ("HOME", "PATH", "TMPDIR")
# Variables that decide its encodings. The first that is set counts.
_LOCALE = ("LC_ALL", "LC_CTYPE", "LANG")


def is_like_warm(path: str, program: ForkedProgram) -> bool:
    """Returns whether a program's interpreter would be the same if it were forked from a warm one."""
    variables = dict(program.environment)
    locale = next((variables[name] for name in _LOCALE if name in variables), None)
    others = [name for name in variables if name not in (*_LATER, *_LOCALE) and not name.startswith("GIT_")]
    return path == _PATH and program.interpreter[1:] == _FLAGS and locale == "C.UTF-8" and not others


def describe_wanted(program: ForkedProgram) -> bytes:
    """Builds the request: the modules, two NUL bytes, and the variables."""
    variables = [f"{name}={value}" for name, value in program.environment]
    return os.fsencode("\0".join(program.modules) + "\0\0" + "\0".join(variables))

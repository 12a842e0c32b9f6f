"""Which interpreters can be forked from one that has started outside of the sandbox (muster_zygote/warm_interpreters.py)."""

import os

from muster_workspace.forked_program import ForkedProgram

_PATH, _FLAGS = "/usr/bin/python3", ("-I",)
# An interpreter that is isolated does not look at these when it starts, nor do its own modules: they can be set later.
_LATER = ("HOME", "PATH", "TMPDIR")
# What decides its encodings, the first that there is.
_LOCALE = ("LC_ALL", "LC_CTYPE", "LANG")


def is_like_warm(path: str, program: ForkedProgram) -> bool:
    """Whether a program's interpreter would be the same when it was forked from a warm one."""
    variables = dict(program.environment)
    locale = next((variables[name] for name in _LOCALE if name in variables), None)
    others = [name for name in variables if name not in (*_LATER, *_LOCALE) and not name.startswith("GIT_")]
    return path == _PATH and program.interpreter[1:] == _FLAGS and locale == "C.UTF-8" and not others


def describe_wanted(program: ForkedProgram) -> bytes:
    """The request: the modules, two zeros, and the variables."""
    variables = [f"{name}={value}" for name, value in program.environment]
    return os.fsencode("\0".join(program.modules) + "\0\0" + "\0".join(variables))

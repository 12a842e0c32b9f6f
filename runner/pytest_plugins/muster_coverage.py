"""A plug-in for pytest that records the lines that tests run of the files in the working directory.

It writes them to the file that MUSTER_COVERAGE_FILE names.
"""

import json
import os
import sys
from typing import Any

_top = os.getcwd() + os.sep
_lines: dict = {}  # type: ignore[type-arg] # Python 3.8 does not support `dict[…]`.


def _trace(frame: Any, event: str, _: Any) -> Any:
    name = frame.f_code.co_filename
    if not name.startswith(_top):
        return None
    covered = _lines.setdefault(name[len(_top) :], set())

    def local(frame: Any, event: str, _: Any) -> Any:
        if event == "line":
            covered.add(frame.f_lineno)
        return local

    return local


def pytest_runtestloop(session: Any) -> None:
    """Traces from here on: modules have been imported, so only code that tests call is traced."""
    sys.settrace(_trace)


def pytest_unconfigure(config: Any) -> None:
    """Writes the lines."""
    sys.settrace(None)
    with open(os.environ["MUSTER_COVERAGE_FILE"], "w", encoding="utf-8") as file:
        json.dump({name: sorted(lines) for name, lines in _lines.items()}, file)

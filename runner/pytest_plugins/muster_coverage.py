"""A plug-in for pytest: which lines of the files in the working directory the tests run, written to the file that MUSTER_COVERAGE_FILE names."""

import json
import os
import sys

_top = os.getcwd() + os.sep
_lines: dict = {}  # type: ignore[type-arg] # Python 3.8 knows no `dict[…]`.


def _trace(frame, event, _):  # type: ignore[no-untyped-def]
    name = frame.f_code.co_filename
    if not name.startswith(_top):
        return None
    covered = _lines.setdefault(name[len(_top) :], set())

    def local(frame, event, _):  # type: ignore[no-untyped-def]
        if event == "line":
            covered.add(frame.f_lineno)
        return local

    return local


def pytest_runtestloop(session) -> None:  # type: ignore[no-untyped-def]
    """Modules have been imported by now: what is traced is what tests call."""
    sys.settrace(_trace)


def pytest_unconfigure(config) -> None:  # type: ignore[no-untyped-def]
    """Write the lines down."""
    sys.settrace(None)
    with open(os.environ["MUSTER_COVERAGE_FILE"], "w", encoding="utf-8") as file:
        json.dump({name: sorted(lines) for name, lines in _lines.items()}, file)

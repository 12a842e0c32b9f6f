"""A plug-in for pytest: each test is run again and again in one process, and how often it failed is written to a file.

MUSTER_REPEATS is how often at most, MUSTER_REPEAT_SECONDS how long all tests may take together, without what a busy machine keeps
them from running; MUSTER_REPEAT_FILE is where the figures go.
"""

import json
import os
import time
from typing import Any

from _pytest.runner import runtestprotocol

_figures: dict = {}  # type: ignore[type-arg] # Python 3.8 knows no `dict[…]`.
_monotonic = time.monotonic
_open = open
_state = {"end": 0.0, "left": 1}
# Seconds of waiting that are left out. Past them a busy machine repeats tests less often: the command's own limit counts the waiting, too.
_MOST_WAITING = 200.0


def _clock() -> float:
    """Return the time in seconds, without the time that this process waited for a processor, if the kernel reports it."""
    try:
        with _open("/proc/self/schedstat", encoding="ascii") as file:
            waited = int(file.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        waited = 0.0
    return _monotonic() - min(_MOST_WAITING, waited)


def pytest_collection_finish(session: Any) -> None:
    """Begin to count the time."""
    _state["end"] = _clock() + float(os.environ.get("MUSTER_REPEAT_SECONDS", "10"))
    _state["left"] = max(1, len(session.items))


def pytest_runtest_protocol(item: Any, nextitem: Any) -> bool:
    """Run the test until its share of the time is over; report the first run."""
    share = max(0.0, _state["end"] - _clock()) / _state["left"]
    _state["left"] = max(1, _state["left"] - 1)
    until = _clock() + share
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    first: list = []  # type: ignore[type-arg]
    runs, failures = 0, 0
    for _ in range(int(os.environ.get("MUSTER_REPEATS", "1"))):
        item._initrequest()
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        first = first or reports
        runs += 1
        failures += any(report.failed for report in reports)
        if _clock() > until:
            break
    for report in first:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    _figures[item.nodeid] = {"runs": runs, "failures": failures}
    return True


def pytest_unconfigure(config: Any) -> None:
    """Write the figures down."""
    with open(os.environ["MUSTER_REPEAT_FILE"], "w", encoding="utf-8") as file:
        json.dump(_figures, file)

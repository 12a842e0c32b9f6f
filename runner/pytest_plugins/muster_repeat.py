"""A plug-in for pytest that runs each test repeatedly in one process, and writes to a file how often it failed.

MUSTER_REPEATS is the largest number of runs of a test, MUSTER_REPEAT_SECONDS the time of all tests together, without the time for which a
busy machine keeps them waiting. MUSTER_REPEAT_FILE names the file.
"""

import json
import os
import time
from typing import Any

from _pytest.runner import runtestprotocol

_figures: dict = {}  # type: ignore[type-arg] # Python 3.8 does not support `dict[…]`.
_monotonic = time.monotonic
_open = open
_state = {"end": 0.0, "left": 1}
# The largest number of seconds of waiting that are left out, because the command's own limit counts the waiting. Beyond it, tests are
# repeated less often.
_MOST_WAITING = 200.0


def _clock() -> float:
    """Returns the time in seconds, without the time for which this process waited for a processor, if the kernel reports it."""
    try:
        with _open("/proc/self/schedstat", encoding="ascii") as file:
            waited = int(file.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        waited = 0.0
    return _monotonic() - min(_MOST_WAITING, waited)


def pytest_collection_finish(session: Any) -> None:
    """Starts the clock."""
    _state["end"] = _clock() + float(os.environ.get("MUSTER_REPEAT_SECONDS", "10"))
    _state["left"] = max(1, len(session.items))


def pytest_runtest_protocol(item: Any, nextitem: Any) -> bool:
    """Runs the test until its share of the time is over. Reports the first run."""
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
    """Writes the figures."""
    with open(os.environ["MUSTER_REPEAT_FILE"], "w", encoding="utf-8") as file:
        json.dump(_figures, file)

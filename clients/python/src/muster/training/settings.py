"""The settings of an evaluator beside a training."""

import math
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal, get_args

from muster.sinks.named_sinks import Log, assert_log
from muster_client import InvalidArgument, SuiteLike
from muster_client.arguments import assert_is
from muster_client.settings import DEFAULT_TIMEOUT_SECONDS, resolve_settings
from muster_client.suite import build_suite_reference

Busy = Literal["skip", "queue", "wait"]
"""The treatment of a checkpoint while an earlier one is evaluated: skip it, queue it, or let the training wait."""

RUNS = Path("muster-runs")
STOPS = {
    "fixed": ("episodes", "confidence"),
    "certified": ("halfWidth", "confidence"),
    "approximate": ("halfWidth", "confidence"),
    "asymptotic": ("halfWidth", "confidence", "tightestAt"),
}
"""Stopping rules and their keys, of which the first is required."""
RANKS = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK")


@dataclass(frozen=True)
class Settings:
    suite: SuiteLike
    directory: Path | None
    """None stands for a new directory in RUNS."""
    run: str | None
    server: str | None
    token: str | None
    log: Log
    busy: Busy
    until: float | None
    stop: Mapping[str, Any] | None

    def __post_init__(self) -> None:
        if self.busy not in get_args(Busy):
            raise InvalidArgument(f"busy: expected {', '.join(get_args(Busy))}, got {self.busy!r}")
        if self.until is not None and not _is_number(self.until):
            raise InvalidArgument(f"until: expected a return, a number, got {self.until!r}")
        if self.stop is not None:
            assert_stop(self.stop)
        assert_log(self.log)
        # A wrong path that is found later would cost a training its results. Other ranks may be on machines without the file.
        if is_first_rank():
            build_suite_reference(self.suite)
        if self.server or os.environ.get("MUSTER_URL"):
            resolve_settings(self.server, self.token, DEFAULT_TIMEOUT_SECONDS, None, plain_http=False)


def assert_stop(stop: object) -> None:
    """Raises InvalidArgument for a stopping rule that a server would refuse at the first checkpoint."""
    assert_is("stop", stop, Mapping, 'a mapping such as {"rule": "fixed", "episodes": 200}')
    given: Mapping[str, Any] = stop  # type: ignore[assignment]
    rule = given.get("rule")
    if not isinstance(rule, str) or rule not in STOPS:
        raise InvalidArgument(f"stop: rule: expected one of {', '.join(STOPS)}, got {rule!r}")
    needed, *others = STOPS[rule]
    for name in given.keys() - {"rule", needed, *others}:
        raise InvalidArgument(f"stop: {name!r} does not go with rule {rule!r}; expected {', '.join([needed, *others])}")
    for name in [needed, *(given.keys() - {"rule"})]:
        if not _is_number(given.get(name)) or given[name] <= 0:
            raise InvalidArgument(f"stop: {name}: expected a number above 0, got {given.get(name)!r}")


def _is_number(given: object) -> bool:
    return isinstance(given, Real) and not isinstance(given, bool) and math.isfinite(given)


def assert_steps(every: object) -> None:
    """Raises InvalidArgument unless the value is a number of steps between two checkpoints."""
    if isinstance(every, bool) or not isinstance(every, Integral) or every < 1:
        raise InvalidArgument(f"every: expected a whole number of steps, 1 or more, got {every!r}")


def is_first_rank() -> bool:
    """Returns whether this process of a distributed training evaluates: rank 0, or the only process."""
    # A library that is not imported is not in use.
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_rank()) == 0
    ranks = [os.environ[name] for name in RANKS if os.environ.get(name, "").isdecimal()]
    return not ranks or int(ranks[0]) == 0


def new_directory(runs: Path) -> Path:
    """Makes a directory with the next free number."""
    runs.mkdir(parents=True, exist_ok=True)
    number = 1 + max((int(path.name) for path in runs.iterdir() if path.name.isdecimal()), default=0)
    while True:
        try:
            (runs / str(number)).mkdir()
        except FileExistsError:
            number += 1
        else:
            return runs / str(number)

"""The settings of an evaluator beside a training."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from muster.sinks.named_sinks import Log, assert_log
from muster_client import InvalidArgument, SuiteLike

Busy = Literal["skip", "queue", "wait"]
"""What to do with a checkpoint while an earlier one is evaluated: skip it, queue it, or let the training wait."""

RUNS = Path("muster-runs")
RANKS = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK")


@dataclass(frozen=True)
class Settings:
    suite: SuiteLike
    directory: Path | None
    """None: a new one each time, in RUNS."""
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
        assert_log(self.log)


def is_first_rank() -> bool:
    """Whether this process is the one of a distributed training that evaluates: rank 0, or the only one."""
    # A library that is not imported is not in use.
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_rank()) == 0
    ranks = [os.environ[name] for name in RANKS if os.environ.get(name, "").isdecimal()]
    return not ranks or int(ranks[0]) == 0


def new_directory(runs: Path) -> Path:
    """The next number that is free."""
    runs.mkdir(parents=True, exist_ok=True)
    number = 1 + max((int(path.name) for path in runs.iterdir() if path.name.isdecimal()), default=0)
    while True:
        try:
            (runs / str(number)).mkdir()
        except FileExistsError:
            number += 1
        else:
            return runs / str(number)

"""The command line of the training scripts: it trains, shows progress, and writes three moments of the run."""

import argparse
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium

from examples.training.checkpoint import Provenance, write_checkpoint
from examples.training.ppo import Moment, Settings, train

UPDATES_BETWEEN_LINES = 10


@dataclass(frozen=True)
class Run:
    name: str
    make: Callable[[int], gymnasium.Env[Any, Any]]
    """Makes the i-th of the environments that are played side by side."""
    settings: Settings
    moments: Mapping[str, int]
    """Name of a checkpoint → the training step after which it is written. The run ends with the last."""
    out: Path

    @property
    def last_step(self) -> int:
        return max(self.moments.values())


def main(runs: Mapping[str, Run], description: str | None) -> None:
    """Trains a task. `runs` has the runs by task; if there are several, the first argument chooses one."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    if len(runs) > 1:
        parser.add_argument("task", choices=list(runs))
    parser.add_argument("--out", type=Path, help="directory for the checkpoints (default: where the example keeps them)")
    parser.add_argument("--seed", type=int, default=0, help="decides every bit of the checkpoints (default: 0)")
    arguments = parser.parse_args()
    run = runs[arguments.task] if len(runs) > 1 else next(iter(runs.values()))
    perform(run, arguments.seed, arguments.out or run.out)


def perform(run: Run, seed: int, out: Path) -> None:
    started = time.monotonic()
    due = dict(run.moments)
    for update, moment in enumerate(train(run.make, run.settings, seed)):
        if update % UPDATES_BETWEEN_LINES == 0:
            _show(moment, run.last_step, time.monotonic() - started)
        for name in [name for name, step in due.items() if moment.step >= step]:
            del due[name]
            path = out / f"{name}.safetensors"
            write_checkpoint(path, moment.policy, moment.action, moment.normaliser, Provenance(run.name, moment.step, seed))
            print(f"step {moment.step:>8}: wrote {path}", flush=True)
        if not due:
            break
    print(f"done in {time.monotonic() - started:.0f} s", flush=True)


def _show(moment: Moment, last_step: int, seconds: float) -> None:
    recent = moment.recent_returns
    mean = f"{sum(recent) / len(recent):.3f} over the last {len(recent)} episodes" if recent else "none yet"
    print(f"step {moment.step:>8} of {last_step}   {seconds:5.0f} s   return {mean}", flush=True)

"""Trains with any framework, and asks Muster after every update how good the policy is.

Three things depend on the answers: intervals are logged, not guesses; the run ends when the target is certified; and the checkpoint that is
kept has beaten the one before on the same episodes, instead of being lucky on its own.
"""

import argparse
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from muster_client import Client, MusterError, Summary

SUFFIX = ".safetensors"
"""The suffix of checkpoints: weights as data alone, which Muster plays without running code of the checkpoint."""

MOST_COMPARED_EPISODES = 2_000
"""A thousand pairs. A smaller difference is not worth the wait, and the older checkpoint is kept."""


class Learner(Protocol):
    """The policy that is trained. `step` counts environment steps."""

    @property
    def step(self) -> int: ...

    def improve(self) -> float:
        """Makes one update. Returns the mean return of the episodes that it learnt from, in which the policy explores."""
        ...

    def save(self, path: Path) -> None:
        """Writes a checkpoint that Muster can play."""
        ...


@dataclass(frozen=True)
class Plan:
    run: str
    suite: str
    """The suite's name on the server, or a path."""
    directory: Path
    """The directory for checkpoints."""
    target: float
    """The run ends when the mean is certified to be at least this."""
    half_width: float
    """The half-width of the intervals. The closer the target is to the policy's return, the narrower it must be."""
    updates: int
    """The largest number of updates."""
    error: float = 0.05
    """The probability that any of the run's intervals is wrong. Each update gets a share, because many updates are many chances to be
    lucky.
    """

    @property
    def stop(self) -> Mapping[str, Any]:
        return {"rule": "certified", "halfWidth": self.half_width, "confidence": 1 - self.error / self.updates}


@dataclass(frozen=True)
class Checkpointed:
    path: Path
    step: int
    summary: Summary


@dataclass(frozen=True)
class Trained:
    best: Checkpointed | None
    """None when nothing was trained."""
    certified: bool
    """Whether the target was reached before the updates ran out."""


def train(learner: Learner, muster: Client, plan: Plan) -> Trained:
    plan.directory.mkdir(parents=True, exist_ok=True)
    best: Checkpointed | None = None
    for _ in range(plan.updates):
        started = time.monotonic()
        recent = learner.improve()
        trained = time.monotonic()
        current = _evaluated(learner, muster, plan)
        print(_line(current, recent, trained - started, time.monotonic() - trained), flush=True)
        if best is None or _is_better(muster, plan, best, current):
            best = current
        if reaches(current.summary, plan.target):
            print(f"a mean of {plan.target:g} is certified after {current.step} steps: {current.path}", flush=True)
            return Trained(current, certified=True)
    if best is not None:
        print(f"a mean of {plan.target:g} was not certified within {plan.updates} updates; the best: {best.path}", flush=True)
    return Trained(best, certified=False)


def reaches(summary: Summary, target: float) -> bool:
    """Returns whether the whole interval is at or above the target. A partial answer is as valid, because its interval is wider."""
    return summary.interval is not None and summary.interval.method == "certified" and summary.interval.low >= target


def _evaluated(learner: Learner, muster: Client, plan: Plan) -> Checkpointed:
    path = plan.directory / f"{plan.run}-{learner.step}{SUFFIX}"
    learner.save(path)
    summary = muster.evaluate(path, plan.suite, stop=plan.stop, run=plan.run, version=learner.step)
    return Checkpointed(path, learner.step, summary)


def _is_better(muster: Client, plan: Plan, best: Checkpointed, current: Checkpointed) -> bool:
    """Compares on the same episodes. Those that were played for the evaluations are not played again."""
    found = muster.compare(
        best.path, current.path, plan.suite, run=plan.run, version=current.step, budget_episodes=MOST_COMPARED_EPISODES
    ).candidates[0]
    print(f"  step {current.step} against {best.step}: {found.verdict} after {found.pairs} pairs", flush=True)
    return found.verdict == "promote"


def _line(current: Checkpointed, recent: float, training_seconds: float, evaluation_seconds: float) -> str:
    interval = current.summary.interval
    shown = "no interval" if interval is None else f"[{interval.low:.1f}, {interval.high:.1f}] at {interval.confidence:.4g}"
    mean = "—" if current.summary.mean is None else f"{current.summary.mean:.1f}"
    times = f"trained {training_seconds:.1f} s, evaluated {evaluation_seconds:.1f} s"
    return f"step {current.step:>7}   mean {mean} {shown}   {current.summary.episodes} episodes   (exploring {recent:.1f})   {times}"


def main(learner: Callable[[int], Learner], description: str | None, run: str) -> int:
    """Runs the command line of these examples. Returns its exit code: 0 certified, 1 not, 3 not evaluated.

    @param learner: makes a learner from a seed.
    """
    plan, seed = _arguments(description, run)
    try:
        with Client() as muster:
            return 0 if train(learner(seed), muster, plan).certified else 1
    except MusterError as error:
        print(f"{run}: {error}", file=sys.stderr)
        return 3


def _arguments(description: str | None, run: str) -> tuple[Plan, int]:
    """Returns the plan, and the seed."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", default=run, help=f"name of the training run (default: {run})")
    parser.add_argument("--suite", default="cartpole", help="name that the server has for it, or a file (default: cartpole)")
    parser.add_argument("--out", type=Path, default=Path("out") / run, help="directory for the checkpoints")
    parser.add_argument("--target", type=float, default=450.0, help="end when the mean is certified to be at least this (default: 450)")
    parser.add_argument("--half-width", type=float, default=25.0, help="of the interval, in units of the return (default: 25)")
    parser.add_argument("--updates", type=int, default=40, help="at most (default: 40)")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    return Plan(given.run, given.suite, given.out, given.target, given.half_width, given.updates), given.seed

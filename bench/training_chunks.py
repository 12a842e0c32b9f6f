"""Cuts a training into chunks, and computes how much longer the chunks beside an evaluation take than those around it."""

import math
import os
import statistics
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from stable_baselines3.common.callbacks import BaseCallback

CGROUPS = Path("/sys/fs/cgroup")
STEPS = 128
MINIBATCHES = 32
"""The number of minibatches of an update that are one chunk."""
SETTLE_SECONDS = 0.5
NEAR_ROLLOUTS = 2
MEASURES = ("clock", "accounted", "beside")
Figures = dict[str, float]


@dataclass(frozen=True)
class Chunk:
    kind: tuple[str, str]
    """The names of the stamps at its beginning and its end."""
    is_beside: bool
    took: Figures
    """Seconds for each measure. `own` is the callback's time by the clock."""


class Tree:
    """Measures the processor time of this process and all its descendants, in a control group of its own."""

    def __init__(self) -> None:
        memberships = [line.split(":", 2)[1:] for line in Path("/proc/self/cgroup").read_text().splitlines()]
        found = [(CGROUPS / names / place.lstrip("/"), names) for names, place in memberships if names in ("", "cpuacct", "cpu,cpuacct")]
        # Version 1 comes first in the list, if the machine has it.
        self._parent, self._names = found[0]
        self._group = self._parent / f"training-{os.getpid()}"

    def __enter__(self) -> "Tree":
        self._group.mkdir()
        (self._group / "cgroup.procs").write_text("0")
        return self

    def __exit__(self, *_: object) -> None:
        (self._parent / "cgroup.procs").write_text("0")
        self._group.rmdir()

    def seconds(self) -> float:
        if self._names:
            return int((self._group / "cpuacct.usage").read_text()) / 1e9
        first, *_ = (self._group / "cpu.stat").read_text().split("\n")
        return int(first.removeprefix("usage_usec ")) / 1e6


class Stamps(BaseCallback):
    """A callback that cuts a training into chunks."""

    def __init__(self, tree: Tree, muster: Any) -> None:
        """@param muster: the measured callback, if there is one. It comes after this one, which ends before the wait for evaluations."""
        super().__init__()
        self.chunks: list[Chunk] = []
        self.end = 0.0
        self._tree, self._muster = tree, muster
        self._own = self._own_thread = 0.0
        self._minibatches = 0
        self._beside_at = -math.inf
        self._last: tuple[str, bool, Figures] | None = None
        if muster is not None:
            for name in ("_on_training_start", "_look"):
                setattr(muster, name, self._timed(getattr(muster, name)))

    def _timed(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*given: Any) -> Any:
            clock, thread = time.perf_counter(), time.thread_time()
            answer = call(*given)
            self._own += time.perf_counter() - clock
            self._own_thread += time.thread_time() - thread
            return answer

        return timed

    def _on_training_start(self) -> None:
        evaluate = self.model.policy.evaluate_actions

        def counted(*given: Any) -> Any:
            if self._minibatches % MINIBATCHES == 0:
                self._stamp("update")
            self._minibatches += 1
            return evaluate(*given)

        self.model.policy.evaluate_actions = counted
        self._stamp("start")

    def _on_rollout_start(self) -> None:
        self._stamp("rollout")

    def _on_step(self) -> bool:
        if self.num_timesteps % STEPS == 0:
            self._stamp("step")
        return True

    def _on_rollout_end(self) -> None:
        self._stamp("returns")

    def _on_training_end(self) -> None:
        self._stamp("end")
        self.end = time.perf_counter()

    def _stamp(self, name: str) -> None:
        clock, thread = time.perf_counter(), time.thread_time()
        beside = self._tree.seconds() - thread
        now = {"clock": clock, "accounted": clock - thread + self._own_thread, "beside": beside, "own": self._own}
        if self._is_evaluated():
            self._beside_at = clock
        is_beside = clock - self._beside_at < SETTLE_SECONDS
        if self._last is not None:
            begin, was_beside, before = self._last
            took = {measure: now[measure] - before[measure] for measure in now}
            self.chunks.append(Chunk((begin, name), is_beside or was_beside, took))
        self._last = name, is_beside, now

    def _is_evaluated(self) -> bool:
        muster, step = self._muster, self.num_timesteps
        return muster is not None and not (muster.evaluator._is_idle and muster._quiet_from < step < muster._quiet_until)


def list_windows(chunks: list[Chunk]) -> list[range]:
    """Returns the windows that have chunks before and after them, with which they can be compared."""
    edges = [place for place in range(1, len(chunks)) if chunks[place].is_beside != chunks[place - 1].is_beside]
    return [range(begin, end) for begin, end in pairwise(edges) if chunks[begin].is_beside]


def surpluses(chunks: list[Chunk], beside: list[bool], windows: list[range]) -> list[Figures]:
    """Returns the surplus of each window by measure. @param beside: for each chunk, whether it is in a window and so no base of a
    comparison.
    """
    kinds = Counter(chunk.kind for chunk in chunks)
    rollouts = kinds["step", "returns"]
    found = []
    for window in windows:
        surplus = dict.fromkeys(MEASURES, 0.0)
        for kind, count in Counter(chunks[place].kind for place in window).items():
            near = max(1, NEAR_ROLLOUTS * kinds[kind] // rollouts)
            same = [place for place, chunk in enumerate(chunks) if chunk.kind == kind and not beside[place]]
            sides = [place for place in same if place < window.start][-near:], [place for place in same if place >= window.stop][:near]
            for measure in MEASURES:
                took = sum(chunks[place].took[measure] for place in window if chunks[place].kind == kind)
                means = [statistics.fmean(chunks[place].took[measure] for place in side) for side in sides if side]
                surplus[measure] += took - count * statistics.fmean(means)
        found.append(surplus)
    return found

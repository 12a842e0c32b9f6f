"""How much longer a training takes by the clock because its checkpoints are evaluated beside it.

    .venv-training/bin/python bench/training_with_callback.py            # no turn that would end after 22 minutes; a server of its own
    .venv-training/bin/python bench/training_with_callback.py --wheel dist/muster_eval-0.1.0-py3-none-any.whl     # as users install it
    .venv-training/bin/python bench/training_with_callback.py --play vector     # the suite's episodes in the environment's vector form
    MUSTER_URL=http://… .venv-training/bin/python bench/training_with_callback.py
    .venv-training/bin/python bench/training_with_callback.py --quick    # shows that it works, not how long it takes

The pace of a machine varies between two trainings by more than the callback costs, so whole trainings are not compared. Each training is
cut into chunks, of 128 steps or 32 minibatches. A *window* is the chunks from the first step at which the callback keeps observations for
a checkpoint until half a second after the end of its evaluation. Its *surplus* is what it takes longer than as many chunks of the same
kinds before and behind it, within two rollouts on each side. Surplus is measured

- by the clock;
- as accounted for: the processor time that the callback takes in the training's thread, and the time that this thread has no processor,
  because it waits for one, or for the interpreter. Of what is by the clock, the rest is that the training's own work is slower:
  processors share a cache and the way to memory;
- beside: the processor time of this process and its descendants without the training's thread.

A turn is two trainings with the same seed, one with the callback, one without. The windows of the one are pretended in the other, whose
chunks do the same work: this *control* has to come out at 0. Intervals of 95 % are Student's t over the windows.
"""

import argparse
import math
import os
import statistics
import sys
import tempfile
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path
from timeit import timeit
from typing import Any

from stable_baselines3 import PPO
from training_chunks import MEASURES, Chunk, Figures, Stamps, Tree, list_windows, surpluses

REPOSITORY = Path(__file__).parents[1]
SUITE = REPOSITORY / "examples" / "game" / "cartpole.yaml"
PLAYS: dict[str, Any] = {"single": "single", "lockstep": {"mode": "lockstep", "width": 32}, "vector": {"mode": "vector", "width": 128}}
CONFIDENCE = 0.95
EVERY_IN_DOCS = 50_000


@dataclass(frozen=True)
class Training:
    chunks: list[Chunk]
    seconds: float
    """Seconds until the end of `learn`'s last step, without the wait for evaluations."""
    quiet: float
    """Seconds that the callback takes at all steps at which it has nothing to do."""


def train(kind: str, options: Any, tree: Tree) -> Training:
    from muster.sb3 import MusterCallback

    model = PPO("MlpPolicy", "CartPole-v1", device="cpu", seed=1)
    quiet = 0.0
    with tempfile.TemporaryDirectory() as directory:
        muster = MusterCallback(options.suite, every=options.every, directory=directory, stop=options.stop) if kind == "with" else None
        stamps = Stamps(tree, muster)
        begin = time.perf_counter()
        model.learn(options.steps, callback=[stamps] if muster is None else [stamps, muster])
        if muster is not None:
            # A step between two checkpoints.
            muster.num_timesteps, muster._quiet_from, muster._quiet_until = 1, 0, 2
            quiet = timeit(muster._on_step, number=options.steps)
    return Training(stamps.chunks, stamps.end - begin, quiet)


class Estimate:
    """A mean with the half-width of its interval by Student's t."""

    def __init__(self, several: list[float]) -> None:
        from scipy.stats import t

        count = len(several)
        self.count, self.mean, self.half = count, statistics.fmean(several), math.inf
        if count > 1:
            self.half = float(t.ppf((1 + CONFIDENCE) / 2, count - 1)) * statistics.stdev(several) / math.sqrt(count)

    def percent(self, of: float, plus: float = 0) -> str:
        return f"{100 * (self.mean + plus) / of:.2f} % (±{100 * self.half / of:.2f})"

    def __str__(self) -> str:
        return f"{self.mean:.4f} s (±{self.half:.4f})"


class Account:
    """The results of all turns."""

    def __init__(self, options: Any) -> None:
        self._options = options
        self._bare_seconds: list[float] = []
        """Seconds of the trainings with the callback, without the surplus by the clock."""
        self._outside: list[float] = []
        """Seconds of the callback outside of windows."""
        self._firsts: list[Figures] = []
        """The windows in which the server starts."""
        self._later: list[Figures] = []
        self._control: list[Figures] = []

    def add(self, slow: Training, bare: Training) -> str:
        windows = list_windows(slow.chunks)
        beside = [chunk.is_beside for chunk in slow.chunks]
        found = surpluses(slow.chunks, beside, windows)
        self._firsts += found[:1]
        self._later += found[1:]
        self._control += surpluses(bare.chunks, beside, windows)
        measured = {place for window in windows for place in window}
        outside = slow.quiet + sum(chunk.took["own"] for place, chunk in enumerate(slow.chunks) if place not in measured)
        self._outside.append(outside)
        self._bare_seconds.append(slow.seconds - outside - sum(one["clock"] for one in found))
        told = " ".join(f"{one['clock']:+.3f}" for one in found)
        share = f"{100 * sum(beside) / len(beside):.0f} % of the chunks are beside evaluations"
        return f"{slow.seconds:.1f} s with, {bare.seconds:.1f} s without; {share}; surpluses by the clock: {told}"

    def report(self) -> None:
        if len(self._later) < 2:
            print("too few evaluations ended before the next checkpoint: nothing to compare them with; give a greater --every")
            return
        seconds, outside = statistics.fmean(self._bare_seconds), statistics.fmean(self._outside)
        each = (len(self._firsts) + len(self._later)) / len(self._bare_seconds)
        for measure in MEASURES:
            found, control = (Estimate([one[measure] for one in several]) for several in (self._firsts + self._later, self._control))
            print(f"{measure}: {found} an evaluation, {found.count} evaluations; control {control}")
            if measure == "beside":
                break
            between = seconds / each
            print(f"  a training takes longer by {found.percent(between, outside / each)}; control {control.percent(between)}")
            if abs(control.mean) > control.half:
                print("  THE CONTROL IS NOT 0: this measure is biased on this machine")
        print(f"outside of windows: {outside:.4f} s a training, which is in these figures; a training takes {seconds:.1f} s without them")
        self._report_by_every(seconds / self._options.steps)

    def _report_by_every(self, a_step: float) -> None:
        for measure in MEASURES:
            later = Estimate([one[measure] for one in self._later])
            once = statistics.fmean(one[measure] for one in self._firsts) - later.mean
            shares = [f"{later.percent(every * a_step)} at every={every:,}" for every in sorted({self._options.every, EVERY_IN_DOCS})]
            print(f"{measure}: {once:.3f} s once, with the start of the server; then {later} an evaluation, " + ", ".join(shares))


def read_options() -> Any:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--every", type=int, default=10_000)
    parser.add_argument("--minutes", type=float, default=22, help="no turn begins that would end later; one at least")
    parser.add_argument("--play", choices=PLAYS, default="single", help="how the suite's episodes are played")
    parser.add_argument("--wheel", type=Path, help="the callback and the server of this wheel, not those of the clone")
    parser.add_argument("--quick", action="store_true", help="one turn of 49,152 steps, evaluations of 8 episodes")
    options = parser.parse_args()
    options.stop = None
    if options.quick:
        options.steps, options.every, options.minutes, options.stop = 49_152, 12_288, 0, {"rule": "fixed", "episodes": 8}
    return options


def measure(options: Any, tree: Tree) -> None:
    begin = before = time.monotonic()
    # These warm-up trainings load, compile and cache everything.
    for kind in ("without", "with"):
        train(kind, argparse.Namespace(**{**vars(options), "steps": 4096}), tree)
    account, turns, longest = Account(options), 0, 0.0
    while turns == 0 or before - begin + longest < 60 * options.minutes:
        trained = {kind: train(kind, options, tree) for kind in (("with", "without") if turns % 2 else ("without", "with"))}
        turns += 1
        print(f"turn {turns}: {account.add(trained['with'], trained['without'])}", flush=True)
        now = time.monotonic()
        longest, before = max(longest, now - before), now
    account.report()


def main() -> None:
    options = read_options()
    with tempfile.TemporaryDirectory() as unpacked, Tree() as tree:
        if options.wheel:
            zipfile.ZipFile(options.wheel).extractall(unpacked)
        sys.path.insert(0, unpacked if options.wheel else str(REPOSITORY / "clients" / "python" / "src"))
        import torch

        from muster_client.suite import build_suite_reference

        suite: Any = build_suite_reference(SUITE)
        options.suite = {**suite, "play": PLAYS[options.play]}
        # torch then computes in the training's thread only.
        torch.set_num_threads(1)
        what = f"{options.steps} steps, a checkpoint every {options.every}, {options.play}"
        print(f"{what}; server: {os.environ.get('MUSTER_URL', 'its own')}", flush=True)
        measure(options, tree)


if __name__ == "__main__":
    main()

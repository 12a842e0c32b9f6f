"""How much longer a training takes with the callback than without: the same training, in turns, one after the other in this process.

    .venv-training/bin/python bench/training_with_callback.py            # no turn that would end after 11 minutes; a server of its own
    .venv-training/bin/python bench/training_with_callback.py --wheel dist/muster_eval-0.1.0-py3-none-any.whl     # as users install it
    .venv-training/bin/python bench/training_with_callback.py --play vector     # the suite's episodes in the environment's vector form
    MUSTER_URL=http://… .venv-training/bin/python bench/training_with_callback.py
    .venv-training/bin/python bench/training_with_callback.py --quick    # shows that it works, not how long it takes

A turn is four trainings, without, with, with, without, so that what changes steadily on a machine is in both halves. The end prints the
ratio of the two by three measures, each with a 95 % interval from the turns (Student's t, on logarithms):

- clock: seconds by the clock. What else the machine does is in it, so its interval is wide.
- thread: seconds of the processor that the training's thread takes. The speed of the processor is in it, which varies between trainings.
- accounted: what the callback itself takes of the thread's processor time, and how much longer than without the thread has no processor:
  because it waits for one, or for the interpreter, which the evaluating thread has. Neither depends on the speed of the training's own
  work, so its interval is narrow.

Then it prints what is computed beside the training, in seconds of a processor: all that this process and its descendants take, without
the training's thread. Some of it is taken once a training, until the server listens; the rest is divided by the evaluations.
Where processors share a core or a cache, it slows the training down although each has a processor.
"""

import argparse
import math
import os
import statistics
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from timeit import timeit
from typing import Any

REPOSITORY = Path(__file__).parents[1]
SUITE = REPOSITORY / "examples" / "game" / "cartpole.yaml"
CGROUPS = Path("/sys/fs/cgroup")
ORDER = ("without", "with", "with", "without")
PLAYS: dict[str, Any] = {"single": "single", "lockstep": {"mode": "lockstep", "width": 32}, "vector": {"mode": "vector", "width": 128}}
CONFIDENCE = 0.95
Measured = dict[str, float]


class Tree:
    """Counts the seconds of the processor that this process and all its descendants take, in a control group of its own."""

    def __init__(self) -> None:
        memberships = [line.split(":", 2)[1:] for line in Path("/proc/self/cgroup").read_text().splitlines()]
        found = [(CGROUPS / names / place.lstrip("/"), names) for names, place in memberships if names in ("", "cpuacct", "cpu,cpuacct")]
        # Of version 1 where there is one, which the list has first.
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


class Beside:
    """Seconds of the processor beside the training's thread, from its construction on."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._clock = time.pthread_getcpuclockid(threading.get_ident())
        self._begin = self._now()
        self.at_start = 0.0
        self.at_end = 0.0

    def _now(self) -> float:
        return self._tree.seconds() - time.clock_gettime(self._clock)

    def started(self) -> None:
        """The server listens."""
        self.at_start = self._now() - self._begin

    def ended(self) -> None:
        self.at_end = self._now() - self._begin


class Own:
    """Seconds of the processor that the callback takes in the training's thread, around what is called seldom."""

    def __init__(self, callback: Any) -> None:
        self.seconds = 0.0
        for name in ("_on_training_start", "_look"):
            setattr(callback, name, self._timed(getattr(callback, name)))

    def _timed(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*given: Any) -> Any:
            begin = time.thread_time()
            answer = call(*given)
            self.seconds += time.thread_time() - begin
            return answer

        return timed


@contextmanager
def watched_start(beside: Beside) -> Iterator[None]:
    """Has the callback's own server say when it has started."""
    from muster.training import serving

    start = serving.start

    def watched(**given: Any) -> Any:
        server = start(**given)
        beside.started()
        return server

    serving.start = watched
    try:
        yield
    finally:
        serving.start = start


def train(kind: str, options: Any, tree: Tree) -> Measured:
    """Seconds of `learn`, without the wait for evaluations at its end; and of what is beside it, with that wait."""
    from stable_baselines3 import PPO

    from muster.sb3 import MusterCallback

    model = PPO("MlpPolicy", "CartPole-v1", device="cpu", seed=1)
    end: list[float] = []
    own: Own | None = None
    callback: Any = None
    with tempfile.TemporaryDirectory() as directory:
        if kind == "with":
            callback = MusterCallback(options.suite, every=options.every, directory=directory)
            own = Own(callback)
            at_end = callback.on_training_end
            callback.on_training_end = lambda: (end.extend((time.perf_counter(), time.thread_time())), at_end())
        beside = Beside(tree)
        with watched_start(beside):
            begin = (time.perf_counter(), time.thread_time())
            model.learn(options.steps, callback=callback)
            clock, thread = end or (time.perf_counter(), time.thread_time())
        beside.ended()
        evaluations = len(list(Path(directory, "summaries").glob("*")))
    if own is not None:
        # Between two checkpoints.
        callback.num_timesteps, callback._quiet_from, callback._quiet_until = 1, 0, 2
        own.seconds += timeit(callback._on_step, number=options.steps)
    clock, thread = clock - begin[0], thread - begin[1]
    measured = {"clock": clock, "thread": thread, "off": clock - thread, "own": 0.0 if own is None else own.seconds}
    each = (beside.at_end - beside.at_start) / max(1, evaluations)
    return {**measured, "evaluations": evaluations, "beside_once": beside.at_start, "beside_each": each}


def turn(options: Any, tree: Tree) -> tuple[dict[str, Measured], Measured]:
    """By kind, the means of its two trainings; and the ratios."""
    found: dict[str, list[Measured]] = {"without": [], "with": []}
    for kind in ORDER:
        found[kind].append(train(kind, options, tree))
    means = {kind: {name: statistics.fmean(one[name] for one in both) for name in both[0]} for kind, both in found.items()}
    slow, bare = means["with"], means["without"]
    more = slow["own"] + slow["off"] - bare["off"]
    ratios = {"clock": slow["clock"] / bare["clock"], "thread": slow["thread"] / bare["thread"], "accounted": 1 + more / bare["clock"]}
    return means, ratios


def interval(ratios: list[float]) -> str:
    from scipy.stats import t

    logarithms = [math.log(ratio) for ratio in ratios]
    middle = statistics.fmean(logarithms)
    if len(ratios) < 2:
        return f"{math.exp(middle):.4f}, no interval from one turn"
    half = t.ppf((1 + CONFIDENCE) / 2, len(ratios) - 1) * statistics.stdev(logarithms) / math.sqrt(len(ratios))
    return f"{math.exp(middle):.4f} [{math.exp(middle - half):.4f}, {math.exp(middle + half):.4f}]"


def read_options() -> Any:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=50_000)
    parser.add_argument("--every", type=int, default=20_000)
    parser.add_argument("--minutes", type=float, default=11, help="no turn begins that would end later; two at least")
    parser.add_argument("--play", choices=PLAYS, default="single", help="how the suite's episodes are played")
    parser.add_argument("--wheel", type=Path, help="the callback and the server of this wheel, not those of the clone")
    parser.add_argument("--quick", action="store_true", help="two turns of 8,192 steps")
    options = parser.parse_args()
    if options.quick:
        options.steps, options.every, options.minutes = 8192, 4096, 0
    return options


def measure(options: Any, tree: Tree) -> None:
    begin = before = time.monotonic()
    # What is loaded, compiled or cached once is so in these.
    for kind in ("without", "with"):
        train(kind, argparse.Namespace(**{**vars(options), "steps": 4096}), tree)
    found: dict[str, list[float]] = {"clock": [], "thread": [], "accounted": []}
    beside: list[Measured] = []
    longest = 0.0
    while len(beside) < 2 or before - begin + longest < 60 * options.minutes:
        means, ratios = turn(options, tree)
        now = time.monotonic()
        longest, before = max(longest, now - before), now
        told = "; ".join(f"{kind} " + ", ".join(f"{name} {value:.3f}" for name, value in one.items()) for kind, one in means.items())
        beside.append(means["with"])
        print(f"turn {len(beside)}: {told}; ratios " + ", ".join(f"{name} {ratio:.4f}" for name, ratio in ratios.items()), flush=True)
        for name, ratio in ratios.items():
            found[name].append(ratio)
    for name, several in found.items():
        print(f"with / without by {name}: {interval(several)}, {len(several)} turns")
    middle = {name: statistics.median(one[name] for one in beside) for name in beside[0]}
    share = middle["beside_each"] / (middle["clock"] / options.steps * options.every)
    print(f"beside the training, of a processor: {middle['beside_once']:.3f} s once a training, until its server listens, and")
    print(f"{middle['beside_each']:.3f} s an evaluation, which is {100 * share:.1f} % of the time between two checkpoints")


def main() -> None:
    options = read_options()
    with tempfile.TemporaryDirectory() as unpacked, Tree() as tree:
        if options.wheel:
            zipfile.ZipFile(options.wheel).extractall(unpacked)
        sys.path.insert(0, unpacked if options.wheel else str(REPOSITORY / "clients" / "python" / "src"))
        import torch

        from muster_client.suite import suite_reference

        suite: Any = suite_reference(SUITE)
        options.suite = {**suite, "play": PLAYS[options.play]}
        # What torch computes is then in the training's thread.
        torch.set_num_threads(1)
        what = f"{options.steps} steps, a checkpoint every {options.every}, {options.play}"
        print(f"{what}; server: {os.environ.get('MUSTER_URL', 'its own')}", flush=True)
        measure(options, tree)


if __name__ == "__main__":
    main()

"""How much longer a training takes with the callback than without: the same training, in turns, one after the other in this process.

    .venv-training/bin/python bench/training_with_callback.py            # no turn that would end after 11 minutes; a server of its own
    MUSTER_URL=http://… .venv-training/bin/python bench/training_with_callback.py
    .venv-training/bin/python bench/training_with_callback.py --quick    # shows that it works, not how long it takes

A turn is four trainings, without, with, with, without, so that what changes steadily on a machine is in both halves. The end prints the
ratio of the two by three measures, each with a 95 % interval from the turns (Student's t, on logarithms):

- clock: seconds by the clock. What else the machine does is in it, so its interval is wide.
- thread: seconds of the processor that the training's thread takes. The speed of the processor is in it, which varies between trainings.
- accounted: what the callback itself takes of the thread's processor time, and how much longer than without the thread has no processor:
  because it waits for one, or for the interpreter, which the evaluating thread has. Neither depends on the speed of the training's own
  work, so its interval is narrow.
"""

import argparse
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from timeit import timeit
from typing import Any

REPOSITORY = Path(__file__).parents[1]
SUITE = REPOSITORY / "examples" / "game" / "cartpole.yaml"
# The callback of this clone, whatever is installed.
sys.path.insert(0, str(REPOSITORY / "clients" / "python" / "src"))
ORDER = ("without", "with", "with", "without")
CONFIDENCE = 0.95
Measured = dict[str, float]


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


def train(kind: str, steps: int, every: int) -> Measured:
    """Seconds of `learn`, without the wait for evaluations at its end."""
    from stable_baselines3 import PPO

    from muster.sb3 import MusterCallback

    model = PPO("MlpPolicy", "CartPole-v1", device="cpu", seed=1)
    end: list[float] = []
    with tempfile.TemporaryDirectory() as directory:
        callback: Any = None
        own: Own | None = None
        if kind == "with":
            callback = MusterCallback(str(SUITE), every=every, directory=directory)
            own = Own(callback)
            at_end = callback.on_training_end
            callback.on_training_end = lambda: (end.extend((time.perf_counter(), time.thread_time())), at_end())
        begin = (time.perf_counter(), time.thread_time())
        model.learn(steps, callback=callback)
        clock, thread = end or (time.perf_counter(), time.thread_time())
    if own is not None:
        # Between two checkpoints.
        callback.num_timesteps, callback._quiet_from, callback._quiet_until = 1, 0, 2
        own.seconds += timeit(callback._on_step, number=steps)
    clock, thread = clock - begin[0], thread - begin[1]
    return {"clock": clock, "thread": thread, "off": clock - thread, "own": 0.0 if own is None else own.seconds}


def turn(options: Any) -> tuple[dict[str, Measured], Measured]:
    """By kind, the means of its two trainings; and the ratios."""
    found: dict[str, list[Measured]] = {"without": [], "with": []}
    for kind in ORDER:
        found[kind].append(train(kind, options.steps, options.every))
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=50_000)
    parser.add_argument("--every", type=int, default=20_000)
    parser.add_argument("--minutes", type=float, default=11, help="no turn begins that would end later; two at least")
    parser.add_argument("--quick", action="store_true", help="two turns of 8,192 steps")
    options = parser.parse_args()
    if options.quick:
        options.steps, options.every, options.minutes = 8192, 4096, 0
    import torch

    # What torch computes is then in the training's thread.
    torch.set_num_threads(1)
    print(f"{options.steps} steps, a checkpoint every {options.every}; server: {os.environ.get('MUSTER_URL', 'its own')}", flush=True)
    begin = before = time.monotonic()
    train("without", 4096, options.every)  # What is loaded once is loaded in it.
    found: dict[str, list[float]] = {"clock": [], "thread": [], "accounted": []}
    number, longest = 0, 0.0
    while number < 2 or before - begin + longest < 60 * options.minutes:
        means, ratios = turn(options)
        number, now = number + 1, time.monotonic()
        longest, before = max(longest, now - before), now
        told = "; ".join(f"{kind} " + ", ".join(f"{name} {seconds:.3f} s" for name, seconds in one.items()) for kind, one in means.items())
        print(f"turn {number}: {told}; ratios " + ", ".join(f"{name} {ratio:.4f}" for name, ratio in ratios.items()), flush=True)
        for name, ratio in ratios.items():
            found[name].append(ratio)
    for name, several in found.items():
        print(f"with / without by {name}: {interval(several)}, {number} turns")


if __name__ == "__main__":
    main()

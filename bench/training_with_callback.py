"""How much longer a training takes with the callback than without: the same training, in turns, in processes of their own.

    .venv-training/bin/python bench/training_with_callback.py            # with a server of the training's own, on this machine
    MUSTER_URL=http://… .venv-training/bin/python bench/training_with_callback.py
    .venv-training/bin/python bench/training_with_callback.py --quick    # shows that it works, not how long it takes

A turn is four trainings, without, with, with, without, so that what changes steadily on a machine is in both halves. The end prints the
ratio of the two by three measures, each with a 95 % interval from the turns (Student's t, on logarithms): seconds of the processor that the
training's thread takes, those that its process takes, and seconds by the clock. Where the machine has other work, the first says most.
"Waited" is how long the training's thread was ready to run and had no processor.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[1]
SUITE = REPOSITORY / "examples" / "game" / "cartpole.yaml"
# The callback of this clone, whatever is installed.
sys.path.insert(0, str(REPOSITORY / "clients" / "python" / "src"))
ORDER = ("without", "with", "with", "without")
RATIOS = ("thread", "process", "clock")
CONFIDENCE = 0.95


def now() -> dict[str, float]:
    """Seconds, of the training's thread where nothing else is said."""
    waited = int(Path(f"/proc/self/task/{threading.get_native_id()}/schedstat").read_text().split()[1])
    return {"thread": time.thread_time(), "process": time.process_time(), "clock": time.perf_counter(), "waited": waited / 1e9}


def train(with_callback: bool, steps: int, every: int) -> dict[str, float]:
    """In this process. Seconds are those of `learn`, without the wait for evaluations at its end."""
    import torch
    from stable_baselines3 import PPO

    from muster.sb3 import MusterCallback

    # What torch computes is then in the training's thread.
    torch.set_num_threads(1)
    model = PPO("MlpPolicy", "CartPole-v1", device="cpu", seed=1)
    with tempfile.TemporaryDirectory() as directory:
        callback = MusterCallback(str(SUITE), every=every, directory=directory) if with_callback else None
        end: dict[str, float] = {}
        if callback is not None:
            # Called once, so that no step takes longer for being measured.
            at_end = callback.on_training_end
            callback.on_training_end = lambda: (end.update(now()), at_end())
        begin = now()
        model.learn(steps, callback=callback)
        end = end or now()
    return {name: end[name] - begin[name] for name in begin}


def in_its_own_process(kind: str, options: Any) -> dict[str, float]:
    command = [sys.executable, __file__, "--one", kind, "--steps", str(options.steps), "--every", str(options.every)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=1800)
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured


def turn(options: Any) -> dict[str, dict[str, float]]:
    """By kind, the mean of its two trainings: geometric where ratios are taken."""
    measured: dict[str, list[dict[str, float]]] = {"without": [], "with": []}
    for kind in ORDER:
        measured[kind].append(in_its_own_process(kind, options))
    return {
        kind: {
            name: statistics.fmean(one[name] for one in found)
            if name == "waited"
            else statistics.geometric_mean(one[name] for one in found)
            for name in found[0]
        }
        for kind, found in measured.items()
    }


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
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--every", type=int, default=25_000)
    parser.add_argument("--turns", type=int, default=8)
    parser.add_argument("--quick", action="store_true", help="two turns of 8,192 steps")
    parser.add_argument("--one", choices=("with", "without"))
    options = parser.parse_args()
    if options.quick:
        options.steps, options.every, options.turns = 8192, 4096, 2
    if options.one is not None:
        print(json.dumps(train(options.one == "with", options.steps, options.every)))
        return
    print(f"{options.steps} steps, a checkpoint every {options.every}; server: {os.environ.get('MUSTER_URL', 'its own')}", flush=True)
    ratios: dict[str, list[float]] = {name: [] for name in RATIOS}
    for number in range(1, options.turns + 1):
        measured = turn(options)
        for name, found in ratios.items():
            found.append(measured["with"][name] / measured["without"][name])
        told = "; ".join(f"{kind} " + ", ".join(f"{name} {one[name]:.3f} s" for name in one) for kind, one in measured.items())
        print(f"turn {number}: {told}; ratios " + ", ".join(f"{name} {found[-1]:.4f}" for name, found in ratios.items()), flush=True)
    for name, found in ratios.items():
        print(f"with / without by {name}: {interval(found)}, {options.turns} turns")


if __name__ == "__main__":
    main()

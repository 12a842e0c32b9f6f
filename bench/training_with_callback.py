"""How much longer a training takes with the callback than without: the same training, in turns, in processes of their own.

    MUSTER_URL=http://127.0.0.1:7677 .venv-training/bin/python bench/training_with_callback.py

Prints for each turn the seconds of both, by the clock and of the training process on the processor, and in the end the medians of the
ratios. A server on the same machine takes processors from the training; one elsewhere does not. The share that the callback itself takes
of the training's thread is measured as well.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[1]
SUITE = REPOSITORY / "examples" / "game" / "cartpole.yaml"
# The callback of this clone, whatever is installed.
sys.path.insert(0, str(REPOSITORY / "clients" / "python" / "src"))


def train(with_callback: bool, steps: int, every: int) -> dict[str, float]:
    """In this process. Seconds are those of `learn`, less the wait for evaluations at its end."""
    import torch
    from stable_baselines3 import PPO

    from muster.sb3 import MusterCallback

    torch.set_num_threads(1)

    class Timed(MusterCallback):
        """Measures what the training's thread spends in it."""

        seconds = 0.0
        ended = 0.0
        ended_processor = 0.0

        def on_step(self) -> bool:
            begin = time.thread_time()
            goes_on = super().on_step()
            self.seconds += time.thread_time() - begin
            return goes_on

        def _on_training_end(self) -> None:
            self.ended, self.ended_processor = time.perf_counter(), time.process_time()
            super()._on_training_end()

    model = PPO("MlpPolicy", "CartPole-v1", device="cpu", seed=1)
    with tempfile.TemporaryDirectory() as directory:
        callback = Timed(str(SUITE), every=every, directory=directory) if with_callback else None
        begin, begin_processor = time.perf_counter(), time.process_time()
        model.learn(steps, callback=callback)
        end, end_processor = time.perf_counter(), time.process_time()
        if callback is not None:
            end, end_processor = callback.ended, callback.ended_processor
    own = {"callback": callback.seconds} if callback is not None else {}
    return {"seconds": end - begin, "processor": end_processor - begin_processor, **own}


def in_its_own_process(kind: str, arguments: Any) -> dict[str, float]:
    command = [sys.executable, __file__, "--one", kind, "--steps", str(arguments.steps), "--every", str(arguments.every)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=1800)
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--every", type=int, default=25_000)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--one", choices=("with", "without"))
    arguments = parser.parse_args()
    if arguments.one is not None:
        print(json.dumps(train(arguments.one == "with", arguments.steps, arguments.every)))
        return
    ratios: dict[str, list[float]] = {"seconds": [], "processor": []}
    for turn in range(arguments.turns):
        first, second = ("with", "without") if turn % 2 else ("without", "with")
        measured = {kind: in_its_own_process(kind, arguments) for kind in (first, second)}
        taken, bare = measured["with"], measured["without"]
        for figure, found in ratios.items():
            found.append(taken[figure] / bare[figure])
        told = {
            figure: f"{bare[figure]:.2f} s without, {taken[figure]:.2f} s with, ratio {found[-1]:.3f}" for figure, found in ratios.items()
        }
        share = taken["callback"] / taken["processor"]
        print(
            f"turn {turn + 1}: by the clock {told['seconds']}; by the processor {told['processor']}; "
            f"the training's thread spent {share:.2%} of the processor's seconds in the callback",
            flush=True,
        )
    for figure, found in ratios.items():
        print(f"median ratio by {figure} {statistics.median(found):.3f} ({min(found):.3f} to {max(found):.3f}) of {arguments.turns} turns")


if __name__ == "__main__":
    main()

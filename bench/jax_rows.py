"""What an environment in JAX costs in Muster's runner, beside a bare loop over it: the same number of blocks, in turns.

    .venv-training/bin/python bench/jax_rows.py

The runner is in bubblewrap. Prints for each turn the seconds of both, of the processor and by the clock, for blocks after compiling,
and in the end the median of the ratios. A ratio of 1 is as fast as the bare loop. Where the machine has other work, compare the seconds
of the processor.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = os.environ["NPROC"] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"

REPOSITORY = Path(__file__).parents[1]
sys.path.insert(0, str(REPOSITORY / "bench" / "peers"))
CHECKPOINT = REPOSITORY / "examples" / "game" / "checkpoints" / "late.safetensors"
ENVIRONMENT = "CartPole-v1"
# Nothing of the machine but its files, read-only: no network, no other process.
WALLS = ("bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp")
TICKS = os.sysconf("SC_CLK_TCK")


def bare(blocks: int, width: int) -> dict[str, float]:
    """Each block until the first episode of every row has ended."""
    import gymnax
    import jax
    import numpy as np
    from batched_mlp import greedy_policy

    act = greedy_policy(CHECKPOINT)
    environment, params = gymnax.make(ENVIRONMENT)
    reset = jax.jit(jax.vmap(environment.reset, in_axes=(0, None)))

    @jax.jit
    def step(key: Any, state: Any, actions: Any) -> Any:
        key, now = jax.random.split(key)
        return key, *jax.vmap(environment.step, in_axes=(0, 0, 0, None))(jax.random.split(now, width), state, actions, params)

    def block(seed: int) -> float:
        key = jax.random.PRNGKey(seed)
        observations, state = reset(jax.random.split(key, width), params)
        totals, waiting = np.zeros(width), np.ones(width, bool)
        while waiting.any():
            key, observations, state, rewards, terminated, truncated, _ = step(key, state, act(np.asarray(observations)))
            totals[waiting] += np.asarray(rewards)[waiting]
            waiting &= ~(np.asarray(terminated) | np.asarray(truncated))
        return float(totals.mean())

    # Types settle in the second step, and with them what is compiled.
    block(0)
    begin, processor = time.perf_counter(), time.process_time()
    mean = statistics.fmean(block(seed) for seed in range(1, blocks + 1))
    return {"seconds": time.perf_counter() - begin, "processor": time.process_time() - processor, "mean": mean}


def processor_seconds(process: int) -> float:
    """Of a process and all that it has started."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return (int(fields[11]) + int(fields[12])) / TICKS + sum(processor_seconds(int(child)) for child in children)


def in_runner(blocks: int, width: int) -> dict[str, float]:
    """The runner as Muster starts it, told what Muster tells it."""
    command = [*WALLS, sys.executable, "-I", str(REPOSITORY / "runner")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as runner:
        assert runner.stdin is not None and runner.stdout is not None

        def tell(frame: dict[str, Any]) -> None:
            runner.stdin.write(json.dumps(frame).encode() + b"\n")
            runner.stdin.flush()

        def answers(count: int) -> list[dict[str, Any]]:
            return [json.loads(runner.stdout.readline()) for _ in range(count)]

        def play(block: int) -> float:
            episodes = [[block * width + row, 0, block, row] for row in range(width)]
            tell({"type": "play", "range": block, "episodes": episodes})
            return statistics.fmean(frame["return"] for frame in answers(1 + width)[1:])

        answers(1)
        task = {"name": "task", "environment": {"entry": f"gymnax:{ENVIRONMENT}", "kwargs": {}, "wrappers": []}}
        batching = {"form": "vector", "width": width, "episodes": width, "episodeSeconds": 600}
        policy = {"path": str(CHECKPOINT), "digest": f"sha256:{sha256(CHECKPOINT.read_bytes()).hexdigest()}"}
        load = {"type": "load", "load": 1, "policy": policy, "code": None, "tasks": [task], "actions": "deterministic", "metrics": []}
        tell({**load, "batching": batching})
        (loaded,) = answers(1)
        assert loaded["type"] == "loaded", loaded
        play(0)
        begin, processor = time.perf_counter(), processor_seconds(runner.pid)
        mean = statistics.fmean(play(block) for block in range(1, blocks + 1))
        done = {"seconds": time.perf_counter() - begin, "processor": processor_seconds(runner.pid) - processor, "mean": mean}
        runner.stdin.close()
    return done


def in_its_own_process(kind: str, options: Any) -> dict[str, float]:
    command = [sys.executable, __file__, "--one", kind, "--blocks", str(options.blocks), "--width", str(options.width)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=900)
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--blocks", type=int, default=20)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--one", choices=("bare", "runner"))
    options = parser.parse_args()
    if options.one is not None:
        print(json.dumps((bare if options.one == "bare" else in_runner)(options.blocks, options.width)))
        return
    ratios: dict[str, list[float]] = {"processor": [], "seconds": []}
    for turn in range(options.turns):
        order = ("bare", "runner") if turn % 2 else ("runner", "bare")
        measured = {kind: in_its_own_process(kind, options) for kind in order}
        for figure, found in ratios.items():
            found.append(measured["bare"][figure] / measured["runner"][figure])
        told = "; ".join(f"{kind} {one['processor']:.2f} s of the processor, {one['seconds']:.2f} s" for kind, one in measured.items())
        print(f"turn {turn + 1}: {told}; ratio {ratios['processor'][-1]:.3f} by the processor", flush=True)
    for figure, found in ratios.items():
        print(f"median ratio by {figure} {statistics.median(found):.3f} ({min(found):.3f} to {max(found):.3f}) of {options.turns} turns")


if __name__ == "__main__":
    main()

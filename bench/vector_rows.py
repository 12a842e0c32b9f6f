"""Compares the cost of a vector environment in Muster's runner with that of a bare loop over it: EnvPool, or gymnax in JAX.

    .venv-training/bin/python bench/vector_rows.py envpool
    .venv-training/bin/python bench/vector_rows.py gymnax
    .venv-training/bin/python bench/vector_rows.py envpool --quick      # shows that it works, not how fast it is

The runner is in bubblewrap. Both play blocks of CartPole with the same policy until the first episode of each row has ended, in turns.
The benchmark counts steps of these episodes a second, by processor time and by the clock, after a first block, in which JAX compiles. It
prints the median of the ratios; 1 is as fast as the bare loop. On a machine with other work, compare the processor time.
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
LIBRARIES = ("envpool", "gymnax")
QUICK = {"blocks": 2, "width": 64, "turns": 2}
# The runner sees only the machine's files, read-only: no network and no other process.
WALLS = ("bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp")
TICKS = os.sysconf("SC_CLK_TCK")


def gymnax_rows(width: int) -> tuple[Any, Any]:
    """Returns a function that begins a block, and one that steps all rows and returns their rewards and which episodes are over."""
    import gymnax
    import jax
    import numpy as np

    environment, params = gymnax.make(ENVIRONMENT)
    reset = jax.jit(jax.vmap(environment.reset, in_axes=(0, None)))
    held: dict[str, Any] = {}

    @jax.jit
    def step_all(key: Any, state: Any, actions: Any) -> Any:
        key, now = jax.random.split(key)
        return key, *jax.vmap(environment.step, in_axes=(0, 0, 0, None))(jax.random.split(now, width), state, actions, params)

    def begin(seed: int) -> Any:
        held["key"] = jax.random.PRNGKey(seed)
        observations, held["state"] = reset(jax.random.split(held["key"], width), params)
        return np.asarray(observations)

    def step(actions: Any) -> Any:
        held["key"], observations, held["state"], _, terminated, truncated, _ = step_all(held["key"], held["state"], actions)
        return np.asarray(observations), np.asarray(terminated) | np.asarray(truncated)

    return begin, step


def envpool_rows(width: int) -> tuple[Any, Any]:
    """Returns the same as `gymnax_rows`. All blocks share one pool, because a bare loop need not seed each."""
    import envpool

    pool = envpool.make_gymnasium(ENVIRONMENT, num_envs=width, batch_size=width, num_threads=1, seed=1)

    def step(actions: Any) -> Any:
        observations, _, terminated, truncated, _ = pool.step(actions)
        return observations, terminated | truncated

    return lambda _seed: pool.reset()[0], step


def bare(library: str, blocks: int, width: int) -> dict[str, float]:
    """Plays each block until the first episode of every row has ended."""
    import numpy as np
    from batched_mlp import greedy_policy

    act = greedy_policy(CHECKPOINT)
    begin_block, step = envpool_rows(width) if library == "envpool" else gymnax_rows(width)

    def block(seed: int) -> int:
        observations = begin_block(seed)
        steps, waiting = 0, np.ones(width, bool)
        while waiting.any():
            observations, is_over = step(act(observations))
            steps += int(waiting.sum())
            waiting &= ~is_over
        return steps

    # Types are fixed in the second step, and so is the compiled code.
    block(0)
    begin, processor = time.perf_counter(), time.process_time()
    steps = sum(block(seed) for seed in range(1, blocks + 1))
    return rates(steps, time.perf_counter() - begin, time.process_time() - processor)


def rates(steps: int, seconds: float, processor: float) -> dict[str, float]:
    return {"clock": steps / seconds, "processor": steps / processor}


def processor_seconds(process: int) -> float:
    """Returns the processor time of a process and of all that it has started."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return (int(fields[11]) + int(fields[12])) / TICKS + sum(processor_seconds(int(child)) for child in children)


def in_runner(library: str, blocks: int, width: int) -> dict[str, float]:
    """Plays blocks in the runner, which gets the frames that Muster sends."""
    command = [*WALLS, sys.executable, "-I", str(REPOSITORY / "runner")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as runner:
        assert runner.stdin is not None and runner.stdout is not None

        def tell(frame: dict[str, Any]) -> None:
            runner.stdin.write(json.dumps(frame).encode() + b"\n")
            runner.stdin.flush()

        def answers(count: int) -> list[dict[str, Any]]:
            return [json.loads(runner.stdout.readline()) for _ in range(count)]

        def play(block: int) -> int:
            episodes = [[block * width + row, 0, block, row] for row in range(width)]
            tell({"type": "play", "range": block, "episodes": episodes})
            return sum(frame["length"] for frame in answers(1 + width)[1:])

        answers(1)
        task = {"name": "task", "environment": {"entry": f"{library}:{ENVIRONMENT}", "kwargs": {}, "wrappers": []}}
        batching = {"form": "vector", "width": width, "episodes": width, "episodeSeconds": 600}
        policy = {"path": str(CHECKPOINT), "digest": f"sha256:{sha256(CHECKPOINT.read_bytes()).hexdigest()}"}
        load = {"type": "load", "load": 1, "policy": policy, "code": None, "tasks": [task], "actions": "deterministic", "metrics": []}
        tell({**load, "batching": batching})
        (loaded,) = answers(1)
        assert loaded["type"] == "loaded", loaded
        play(0)
        begin, processor = time.perf_counter(), processor_seconds(runner.pid)
        steps = sum(play(block) for block in range(1, blocks + 1))
        done = rates(steps, time.perf_counter() - begin, processor_seconds(runner.pid) - processor)
        runner.stdin.close()
    return done


def in_its_own_process(kind: str, options: Any) -> dict[str, float]:
    sizes = ["--blocks", str(options.blocks), "--width", str(options.width)]
    command = [sys.executable, __file__, options.library, "--one", kind, *sizes]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=900)
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("library", choices=LIBRARIES)
    parser.add_argument("--blocks", type=int, default=20)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--one", choices=("bare", "runner"))
    options = parser.parse_args()
    if options.one is not None:
        measure = bare if options.one == "bare" else in_runner
        print(json.dumps(measure(options.library, options.blocks, options.width)))
        return
    vars(options).update(QUICK if options.quick else {})
    ratios: dict[str, list[float]] = {"processor": [], "clock": []}
    for turn in range(options.turns):
        order = ("bare", "runner") if turn % 2 else ("runner", "bare")
        measured = {kind: in_its_own_process(kind, options) for kind in order}
        for figure, found in ratios.items():
            found.append(measured["runner"][figure] / measured["bare"][figure])
        told = "; ".join(
            f"{kind} {one['processor']:,.0f} steps a second of the processor, {one['clock']:,.0f} by the clock"
            for kind, one in measured.items()
        )
        print(
            f"turn {turn + 1}: {told}; ratio {ratios['processor'][-1]:.3f} by the processor, {ratios['clock'][-1]:.3f} by the clock",
            flush=True,
        )
    for figure, found in ratios.items():
        print(f"median ratio by {figure} {statistics.median(found):.3f} ({min(found):.3f} to {max(found):.3f}) of {options.turns} turns")


if __name__ == "__main__":
    main()

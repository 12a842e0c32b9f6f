"""CartPole in EnvPool, with the same policy: prints steps and episodes a second as JSON.

python bench/peers/envpool_episodes.py --threads 2 --seconds 5 CHECKPOINT
"""

import argparse
import json
import os
import time
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"

import envpool  # noqa: E402
from batched_mlp import greedy_policy  # noqa: E402

ENVIRONMENTS = 256


def measure(threads: int, seconds: float, checkpoint: Path) -> dict[str, float]:
    """Measures steps and episodes a second, without the start-up and the first steps."""
    act = greedy_policy(checkpoint)
    pool = envpool.make("CartPole-v1", env_type="gymnasium", num_envs=ENVIRONMENTS, num_threads=threads, seed=1)
    observations, _ = pool.reset()
    for _ in range(20):
        observations, *_ = pool.step(act(observations))
    steps = episodes = 0
    began = time.perf_counter()
    while (elapsed := time.perf_counter() - began) < seconds:
        observations, _, terminated, truncated, _ = pool.step(act(observations))
        ended = int((terminated | truncated).sum())
        # The step after the last one of an episode only resets.
        steps += ENVIRONMENTS - ended
        episodes += ended
    return {"stepsPerSecond": steps / elapsed, "episodesPerSecond": episodes / elapsed}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("checkpoint", type=Path)
    options = parser.parse_args()
    print(json.dumps(measure(options.threads, options.seconds, options.checkpoint)))


if __name__ == "__main__":
    main()

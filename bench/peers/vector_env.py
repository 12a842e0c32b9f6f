"""CartPole in one of gymnasium's own vector environments, with the same policy: prints steps and episodes a second as JSON.

python bench/peers/vector_env.py --kind async --environments 16 --seconds 5 CHECKPOINT
"""

import argparse
import json
import os
import time
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"

import gymnasium  # noqa: E402
from batched_mlp import greedy_policy  # noqa: E402

# `vector` is the environment's own vector form, in a plain loop.
MODES = {"async": "async", "sync": "sync", "vector": "vector_entry_point"}


def measure(kind: str, environments: int, seconds: float, checkpoint: Path) -> dict[str, float]:
    """Measures steps and episodes a second, without the start-up and the first steps."""
    act = greedy_policy(checkpoint)
    vector = gymnasium.make_vec("CartPole-v1", num_envs=environments, vectorization_mode=MODES[kind])
    observations, _ = vector.reset(seed=1)
    for _ in range(20):
        observations, *_ = vector.step(act(observations))
    steps = episodes = 0
    began = time.perf_counter()
    while (elapsed := time.perf_counter() - began) < seconds:
        observations, _, terminated, truncated, _ = vector.step(act(observations))
        ended = int((terminated | truncated).sum())
        # The step after the last one of an episode only resets.
        steps += environments - ended
        episodes += ended
    vector.close()
    return {"stepsPerSecond": steps / elapsed, "episodesPerSecond": episodes / elapsed}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", choices=tuple(MODES), required=True)
    parser.add_argument("--environments", type=int, required=True)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("checkpoint", type=Path)
    options = parser.parse_args()
    print(json.dumps(measure(options.kind, options.environments, options.seconds, options.checkpoint)))


if __name__ == "__main__":
    main()

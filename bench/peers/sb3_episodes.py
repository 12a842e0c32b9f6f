"""CartPole with Stable-Baselines3's `evaluate_policy`, with the same policy: prints steps and episodes a second as JSON.

python bench/peers/sb3_episodes.py --threads 2 --seconds 5 CHECKPOINT

`evaluate_policy` takes anything with a `predict`; the network is the same NumPy one as everywhere, so what differs is the loop.
"""

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"

import gymnasium  # noqa: E402
from batched_mlp import Array, greedy_policy  # noqa: E402
from stable_baselines3.common.evaluation import evaluate_policy  # noqa: E402
from stable_baselines3.common.vec_env import DummyVecEnv  # noqa: E402

ENVIRONMENTS = 64
EPISODES_AT_A_TIME = 64


class Predicting:
    def __init__(self, checkpoint: Path) -> None:
        self._act = greedy_policy(checkpoint)

    def predict(self, observation: Array, state: Any = None, **_: Any) -> tuple[Array, Any]:
        return self._act(observation), state


def measure(seconds: float, checkpoint: Path) -> dict[str, float]:
    """Measures steps and episodes a second, without the start-up and the first episodes."""
    policy: Any = Predicting(checkpoint)
    environments = DummyVecEnv([lambda: gymnasium.make("CartPole-v1") for _ in range(ENVIRONMENTS)])
    evaluate_policy(policy, environments, n_eval_episodes=1, warn=False)
    steps = episodes = 0
    began = time.perf_counter()
    while (elapsed := time.perf_counter() - began) < seconds:
        _, lengths = evaluate_policy(policy, environments, n_eval_episodes=EPISODES_AT_A_TIME, return_episode_rewards=True, warn=False)
        assert isinstance(lengths, list)
        steps += sum(lengths)
        episodes += len(lengths)
    return {"stepsPerSecond": steps / elapsed, "episodesPerSecond": episodes / elapsed}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, required=True, help="not used: it has one process")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("checkpoint", type=Path)
    options = parser.parse_args()
    print(json.dumps(measure(options.seconds, options.checkpoint)))


if __name__ == "__main__":
    main()

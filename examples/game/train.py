"""Trains the policies of the two control tasks with PPO in NumPy (see examples/training/ppo.py for its source)."""

from pathlib import Path

import gymnasium

from examples.training.ppo import Settings
from examples.training.run import Run, main

HERE = Path(__file__).parent

RUNS = {
    "cartpole": Run(
        name="cartpole-ppo",
        make=lambda _: gymnasium.make("CartPole-v1", disable_env_checker=True),
        # The learning rate is low, and the run ends before every episode is perfect: a checkpoint whose returns have no variance would show
        # nothing of the statistics.
        settings=Settings(steps=60_000, environments=8, learning_rate=1e-4, reward_scale=0.05),
        moments={"early": 4_096, "middle": 28_672, "late": 41_984},
        out=HERE / "checkpoints",
    ),
    "pendulum": Run(
        name="pendulum-ppo",
        make=lambda _: gymnasium.make("Pendulum-v1", disable_env_checker=True),
        settings=Settings(steps=400_000, horizon=64, gamma=0.95, learning_rate=5e-4, reward_scale=0.1),
        moments={"early": 20_480, "middle": 61_440, "late": 400_000},
        out=HERE / "pendulum-checkpoints",
    ),
}

if __name__ == "__main__":
    main(RUNS, __doc__)

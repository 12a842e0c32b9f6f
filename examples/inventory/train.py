"""Trains an order policy for the shop with PPO in NumPy (see examples/training/ppo.py for its source).

One policy serves all kinds of demand, and does not observe which it meets.
"""

from pathlib import Path

from examples.inventory.environment.shop import Demand, make
from examples.training.ppo import Settings
from examples.training.run import Run, main

DEMANDS: tuple[Demand, ...] = ("steady", "seasonal", "volatile", "volatile")
"""Volatile demand occurs twice, because there is most to learn from it."""

RUN = Run(
    name="inventory-ppo",
    make=lambda index: make(DEMANDS[index % len(DEMANDS)]),
    settings=Settings(
        steps=1_500_000,
        environments=32,
        horizon=90,
        minibatch=512,
        gamma=0.95,
        learning_rate=5e-4,
        reward_scale=100.0,
        squash="clip",
        initial_log_std=-1.0,
        initial_mean=0.4,
    ),
    moments={"early": 20_160, "middle": 100_800, "late": 1_500_000},
    out=Path(__file__).parent / "checkpoints",
)

if __name__ == "__main__":
    main({RUN.name: RUN}, __doc__)

"""Trains a recommender for the simulated catalogue with PPO in NumPy (see examples/training/ppo.py for its source)."""

from pathlib import Path

from examples.recommendations.environment.catalogue import make
from examples.training.ppo import Settings
from examples.training.run import Run, main

RUN = Run(
    name="recommendations-ppo",
    make=lambda _: make(),
    settings=Settings(steps=1_000_000, learning_rate=1e-3, minibatch=512, entropy_weight=0.01, reward_scale=0.3),
    moments={"early": 2_048, "middle": 61_440, "late": 1_000_000},
    out=Path(__file__).parent / "checkpoints",
)

if __name__ == "__main__":
    main({RUN.name: RUN}, __doc__)

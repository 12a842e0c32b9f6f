"""The generators that belong to nobody in particular, and so have to be set for every episode."""

import random
import sys

import numpy as np


def seed_global_generators(seed: int) -> None:
    """Environments that draw from `random` or `numpy.random` play the same whatever was played before them."""
    random.seed(seed)
    np.random.seed(seed)


def seed_torch(seed: int) -> None:
    """The same for torch's generator, once something has imported it."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(seed)

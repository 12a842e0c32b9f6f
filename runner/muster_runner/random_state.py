"""Seeds the global random generators for every episode."""

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np


def seed_global_generators(seed: int) -> None:
    """Seeds `random` and `numpy.random`, so that environments that draw from them play the same after any earlier episode."""
    random.seed(seed)
    np.random.seed(seed)


def seed_torch(seed: int) -> None:
    """Seeds torch's generator as well, once torch has been imported."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(seed)


@contextmanager
def undisturbed_generators() -> Iterator[None]:
    """Restores all generators afterwards, so that later draws are not affected."""
    torch = sys.modules.get("torch")
    python, numpy, torch_state = random.getstate(), np.random.get_state(), None if torch is None else torch.get_rng_state()
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
        if torch is not None:
            torch.set_rng_state(torch_state)

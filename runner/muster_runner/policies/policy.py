"""The interface of a policy that plays one observation at a time."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

# float32 or float64, as in the checkpoint.
Array = NDArray[Any]


class Policy(Protocol):
    """Chooses actions, for one observation space and one action space."""

    def reset(self, seed: int, /) -> None:
        """Begins an episode. `seed`, 0 … 2³² − 1, decides everything random in it."""

    def act(self, observation: Any, /) -> Any:
        """Returns a valid action for one observation."""


class Dice:
    """The random generator of a stochastic policy."""

    def __init__(self) -> None:
        self.reset(0)

    def reset(self, seed: int) -> None:
        self.generator = np.random.Generator(np.random.PCG64(seed))

"""What the runner needs of a policy."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

# Float32 or float64, as the checkpoint has it.
Array = NDArray[Any]


class Policy(Protocol):
    """Chooses actions, for one observation space and one action space."""

    def reset(self, seed: int, /) -> None:
        """Before each episode: all that is random in it follows from `seed`, 0 … 2³² − 1."""

    def act(self, observation: Any, /) -> Any:
        """The action for one observation; valid for the action space."""


class Dice:
    """The generator that a stochastic policy draws from."""

    def __init__(self) -> None:
        self.reset(0)

    def reset(self, seed: int) -> None:
        self.generator = np.random.Generator(np.random.PCG64(seed))

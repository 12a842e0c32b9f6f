"""Episodes whose lengths differ a hundredfold: most are short, a few are very long. The seed decides the length."""

import math
from typing import Any

import gymnasium
import numpy as np


class Varied(gymnasium.Env[Any, Any]):
    """Lengths are spread evenly over their logarithms. Its spaces are CartPole's, so that a policy for CartPole fits."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (4,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, shortest: int, longest: int, work: int) -> None:
        """@param work: the number of additions that a step computes."""
        self._shortest, self._longest, self._work = shortest, longest, work

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        spread = math.log(self._longest / self._shortest)
        self._left = round(self._shortest * math.exp(self.np_random.random() * spread))
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if not self.action_space.contains(action):
            raise ValueError(f"the action is {action!r}, expected 0 or 1")
        total = 0
        for number in range(self._work):
            total += number
        self._left -= 1
        return self._seen(), float(total >= 0), self._left == 0, False, {}

    def _seen(self) -> Any:
        return self.np_random.standard_normal(4, np.float32)


def make(shortest: int = 10, longest: int = 1000, work: int = 200) -> Varied:
    return Varied(shortest, longest, work)

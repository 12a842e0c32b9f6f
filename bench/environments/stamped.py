"""An environment that reports when its episode began and ended. One episode in `long_every` takes longer than the others."""

import time
from typing import Any

import gymnasium
import numpy as np


class Stamped(gymnasium.Env[Any, Any]):
    """One step long. Its spaces are CartPole's, so that a policy for CartPole fits."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (4,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, seconds: float, long_seconds: float, long_every: int) -> None:
        self._seconds = seconds
        self._long_seconds = long_seconds
        self._long_every = long_every
        self._is_long = False
        self._began = 0.0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self._began = time.time()
        self._is_long = (seed or 0) % self._long_every == 0
        return self.np_random.standard_normal(4).astype(np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if not self.action_space.contains(action):
            raise ValueError(f"the action is {action!r}, expected 0 or 1")
        time.sleep(self._long_seconds if self._is_long else self._seconds)
        return np.zeros(4, np.float32), 1.0, True, False, {"began": self._began, "ended": time.time()}


def make(seconds: float, long_seconds: float, long_every: int) -> Stamped:
    return Stamped(seconds, long_seconds, long_every)

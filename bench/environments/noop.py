"""An environment in which nothing happens, so that an episode costs only what Muster, the runner and the pipe cost."""

from typing import Any

import gymnasium
import numpy as np


class Noop(gymnasium.Env[Any, Any]):
    """Ends at its first step. Its spaces are CartPole's, so that a policy for CartPole fits."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (4,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self) -> None:
        self._observation = np.zeros(4, np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        return self._observation, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return self._observation, 1.0, True, False, {}


def make() -> Noop:
    return Noop()

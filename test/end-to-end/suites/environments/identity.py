"""An environment whose return is what the policy does: it tells which policy has played."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

# Every so many episodes one takes so much longer that others have nothing to do meanwhile.
LONG_EVERY = 9
STEPS = 3
LONG_STEPS = 2000


class Identity(gymnasium.Env[Any, Any]):
    observation_space = spaces.Box(-1.0, 1.0, (1,), np.float32)
    action_space = spaces.Box(0.0, 1.0, (1,), np.float32)

    def __init__(self) -> None:
        self._left = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self._left = LONG_STEPS if (seed or 0) % LONG_EVERY == 0 else STEPS
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._left -= 1
        is_over = self._left == 0
        return np.zeros(1, np.float32), float(action[0]) if is_over else 0.0, is_over, False, {}

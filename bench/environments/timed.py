"""An environment that reports when its sandbox ended its first episode, and then keeps the sandbox busy for a while."""

import os
import time
from typing import Any

import gymnasium
import numpy as np

# A random number that identifies this process, and the time at which its first episode ended, in seconds since 1970.
SANDBOX = float(int.from_bytes(os.urandom(6)))
_first_ended: list[float] = []


class Timed(gymnasium.Env[Any, Any]):
    """One step long. Its spaces are CartPole's, so that a policy for CartPole fits."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (4,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, hold_seconds: float) -> None:
        """@param hold_seconds: seconds that an episode lasts, long enough for the next one to go to another sandbox."""
        self._hold_seconds = hold_seconds

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        return self.np_random.standard_normal(4).astype(np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if not self.action_space.contains(action):
            raise ValueError(f"the action is {action!r}, expected 0 or 1")
        if not _first_ended:
            _first_ended.append(time.time())
        time.sleep(self._hold_seconds)
        return np.zeros(4, np.float32), 1.0, True, False, {"sandbox": SANDBOX, "first_ended": _first_ended[0]}


def make(hold_seconds: float) -> Timed:
    return Timed(hold_seconds)

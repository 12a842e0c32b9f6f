"""Environments whose observations are images, and dictionaries of several kinds."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

SIDE = 36
"""Pixels of the smallest image that NatureCNN accepts."""
LENGTH = 20


class Pictures(gymnasium.Env[Any, Any]):
    """Random bytes [height, width, channels], other ones at each step."""

    def __init__(self, channels: int = 3) -> None:
        self.observation_space = spaces.Box(0, 255, (SIDE, SIDE, channels), np.uint8)
        self.action_space: spaces.Space[Any] = spaces.Discrete(4)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self._steps = 0
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._steps += 1
        return self._seen(), float(np.sum(action)), self._steps >= LENGTH, False, {}

    def _seen(self) -> Any:
        shape = self.observation_space.shape
        assert shape is not None
        return self.np_random.integers(0, 256, shape, dtype=np.uint8)


class SteeredPictures(Pictures):
    """Pictures with actions that are numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.action_space = spaces.Box(-1, 2, (2,), np.float32)


class Mixed(Pictures):
    """A picture, numbers, a choice and two choices."""

    def __init__(self, has_picture: bool = True) -> None:
        super().__init__()
        self._picture = self.observation_space
        numbers = spaces.Box(-100, 100, (2, 3), np.float32)
        parts = {"numbers": numbers, "choice": spaces.Discrete(3), "two": spaces.MultiDiscrete([2, 4])}
        self.observation_space: Any = spaces.Dict({**parts, "picture": self._picture} if has_picture else parts)
        self.action_space = spaces.Box(np.array([-2, 0], np.float32), np.array([2, 1], np.float32))

    def _seen(self) -> Any:
        seen = {
            "numbers": self.np_random.normal(20, 30, (2, 3)).astype(np.float32),
            "choice": int(self.np_random.integers(3)),
            "picture": self.np_random.integers(0, 256, self._picture.shape, dtype=np.uint8),
            "two": self.np_random.integers([2, 4]),
        }
        return {name: seen[name] for name in self.observation_space.spaces}


class MixedChoices(Mixed):
    """With actions that are one choice of four."""

    def __init__(self, has_picture: bool = True) -> None:
        super().__init__(has_picture)
        self.action_space = spaces.Discrete(4)

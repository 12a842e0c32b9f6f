"""An environment that renders: a ball that falls, in a picture that shows where it is."""

import os
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces

HEIGHT, WIDTH = 90, 120


class Falling(gymnasium.Env[Any, Any]):
    """The reward is the distance that the ball has fallen. With `careless`, something that no seed decides pushes the ball."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"]}

    def __init__(self, steps: int = 12, careless: bool = False, render_mode: str | None = None) -> None:
        self.observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float32)
        self.action_space = spaces.Discrete(2)
        self.render_mode = render_mode
        self._steps = steps
        self._careless = careless

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed, options=options)
        self._played = 0
        self._height = float(self.np_random.uniform(60, 80))
        return np.array([self._height], np.float32), {}

    def step(self, _action: Any) -> Any:
        push = int.from_bytes(os.urandom(2)) / 65536 if self._careless else float(self.np_random.uniform())
        fallen = 4 * push
        self._height -= fallen
        self._played += 1
        return np.array([self._height], np.float32), fallen, self._played == self._steps, False, {}

    def render(self) -> Any:
        picture = np.full((HEIGHT, WIDTH, 3), 240, np.uint8)
        row = HEIGHT - 1 - int(max(0.0, self._height))
        picture[max(0, row - 4) : row + 4, 56:64] = (200, 60, 40)
        return picture

"""A ball that falls and a paddle that catches it, seen as an image. Nearly all of an episode's cost is that of its pixels."""

from typing import Any

import gymnasium
import numpy as np

SIDE = 48
PADDLE = 9
BALLS = 4
Frame = np.ndarray[Any, np.dtype[np.uint8]]


class Catch(gymnasium.Env[Any, Any]):
    """Ends after four balls. A ball that is caught is worth 1. Observations are [48, 48, 1] bytes."""

    observation_space = gymnasium.spaces.Box(0, 255, (SIDE, SIDE, 1), np.uint8)
    action_space = gymnasium.spaces.Discrete(3)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Frame, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self._balls = BALLS
        self._paddle = SIDE // 2
        self._drop()
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Frame, float, bool, bool, dict[str, Any]]:
        self._paddle = min(SIDE - 1, max(0, self._paddle + 2 * (int(action) - 1)))
        self._height += 2
        if self._height < SIDE - 2:
            return self._seen(), 0.0, False, False, {}
        caught = abs(self._paddle - self._column) <= PADDLE // 2
        self._balls -= 1
        self._drop()
        return self._seen(), float(caught), self._balls == 0, False, {}

    def _drop(self) -> None:
        self._column, self._height = int(self.np_random.integers(SIDE)), 0

    def _seen(self) -> Frame:
        """Draws a new picture at each step, as environments that render do."""
        frame = np.zeros((SIDE, SIDE, 1), np.uint8)
        frame[self._height : self._height + 2, max(0, self._column - 1) : self._column + 1] = 255
        frame[-2:, max(0, self._paddle - PADDLE // 2) : self._paddle + PADDLE // 2 + 1] = 128
        return frame


def make() -> Catch:
    return Catch()

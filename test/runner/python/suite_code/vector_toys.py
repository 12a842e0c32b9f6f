"""Vector environments with one property each, as a suite ships them."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray
from toys import Remembered, Seen

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class Rows(VectorEnv[Any, Any, Any]):
    """Row r's episodes last r + 1 steps, each with a reward of 1. Steps between two episodes are worth 1,000, so that none may leak."""

    single_observation_space: spaces.Space[Any] = spaces.Box(-np.inf, np.inf, (1,), np.float32)
    single_action_space: spaces.Space[Any] = spaces.Discrete(2)

    def __init__(self, num_envs: int, mode: str | None = "NextStep", **behaviour: Any) -> None:
        """@param behaviour: `fails_at` a step, `endless` a row, `shape` of the reward, `shows_more` rows, `blind` to show NaN."""
        self.num_envs = num_envs
        self.mode = mode
        self.metadata = {} if mode is None else {"autoreset_mode": AutoresetMode(mode)}
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.behaviour = behaviour
        self.steps = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        mask = np.ones(self.num_envs, bool) if options is None else options["reset_mask"]
        if options is None:
            self.lengths = np.zeros(self.num_envs, int)
            self.over = np.zeros(self.num_envs, bool)
            self.steps = 0
        self.lengths[mask] = 0
        self.over[mask] = False
        return self.observe(), {}

    def step(self, actions: Any) -> tuple[Any, Floats, Flags, Flags, dict[str, Any]]:
        self.steps += 1
        if self.steps == self.behaviour.get("fails_at"):
            raise RuntimeError("all wheels came off")
        between = self.over.copy()
        assert not (self.mode == "Disabled" and between.any()), "a row that is over was stepped"
        self.lengths[~between] += 1
        self.lengths[between] = 0
        over = ~between & (self.lengths >= np.arange(self.num_envs) + 1)
        if "endless" in self.behaviour:
            over[self.behaviour["endless"]] = False
        rewards = np.where(between, 1000.0, self.rewards(actions))
        info: dict[str, Any] = {"played": self.lengths.copy(), "_played": ~between}
        self.over = over.copy()
        if self.mode == "SameStep" and over.any():
            info = {"final_info": {"played": self.lengths.copy(), "_played": over}, "_final_info": over, "played": 0 * self.lengths}
            self.lengths[over] = 0
            self.over[:] = False
        if self.behaviour.get("shape") == "one":
            rewards = rewards[:1]
        return self.observe(), rewards, over, np.zeros(self.num_envs, bool), info

    def observe(self) -> Any:
        seen = np.nan if self.behaviour.get("blind") else 0.0
        return np.full((self.num_envs + self.behaviour.get("shows_more", 0), 1), seen, np.float32)

    def rewards(self, _actions: Any) -> Floats:
        return np.ones(self.num_envs)


class Chosen(Rows):
    """The reward is the discrete action."""

    def rewards(self, actions: Any) -> Floats:
        assert self.action_space.contains(actions)
        return np.asarray(actions, float)


class Wider(Rows):
    """Has one row more than it was asked for."""

    def __init__(self, num_envs: int) -> None:
        super().__init__(num_envs + 1)


class Composite(Rows):
    """A dictionary to see, several choices to make; the reward is the sum of the choices."""

    single_observation_space = spaces.Dict({"a": spaces.Box(-1, 1, (2,), np.float32), "b": spaces.Discrete(3)})
    single_action_space = spaces.MultiDiscrete([3, 2])

    def observe(self) -> Any:
        rows = np.arange(self.num_envs)
        return {"a": np.stack([rows, -rows], axis=1).astype(np.float32), "b": rows % 3}

    def rewards(self, actions: Any) -> Floats:
        assert self.action_space.contains(actions)
        total: Floats = actions.sum(axis=1).astype(float)
        return total


class Worth(gymnasium.vector.VectorWrapper[Any, Any, Any]):
    """Multiplies the rewards."""

    def __init__(self, env: Any, factor: float) -> None:
        super().__init__(env)
        self.factor = factor

    def step(self, actions: Any) -> Any:
        observations, rewards, terminated, truncated, info = self.env.step(actions)
        return observations, rewards * self.factor, terminated, truncated, info


def single_only(steps: int) -> None:
    raise AssertionError(f"is not called, with {steps} steps")


def no_vector(num_envs: int) -> object:
    """Takes a width, and makes nothing of it."""
    return range(num_envs)


def seen(num_envs: int) -> Any:
    """Gymnasium's own way to make a vector of single environments: its rows have the seeds that follow the first one's."""
    return gymnasium.vector.SyncVectorEnv([Seen for _ in range(num_envs)])


def remembered(num_envs: int) -> Any:
    return gymnasium.vector.SyncVectorEnv([Remembered for _ in range(num_envs)])

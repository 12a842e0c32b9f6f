"""Plays several environments side by side, and estimates the advantage of each action."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from examples.training.action import ActionDistribution
from examples.training.mlp import Array, Mlp
from examples.training.normaliser import Normaliser

EPISODES_REMEMBERED = 100


@dataclass(frozen=True)
class Rollout:
    """Shapes: [steps, environments, …]. Observations are normalised as the policy saw them."""

    observations: Array
    actions: Array
    log_probabilities: Array
    rewards: Array
    ended: Array
    """1 where the episode ended, for any reason."""
    values: Array
    """[steps + 1, environments]: the last row has the values after the rollout."""


class Players:
    """Environments that are stepped in turn, each reset with a new seed when its episode ends."""

    def __init__(self, make: Callable[[int], gymnasium.Env[Any, Any]], count: int, rng: np.random.Generator) -> None:
        self._environments = [make(index) for index in range(count)]
        self._rng = rng
        self._observations = np.stack([self._reset(environment) for environment in self._environments])
        self._returns = np.zeros(count)
        self.recent: deque[float] = deque(maxlen=EPISODES_REMEMBERED)
        """Returns of the last episodes that ended."""

    @property
    def count(self) -> int:
        return len(self._environments)

    def observations(self) -> Array:
        return self._observations.copy()

    def step(self, actions: Array) -> tuple[Array, Array, list[tuple[int, Array]]]:
        """Steps the environments. Returns rewards, ended, and [(environment, last observation)] of episodes that a time limit cut off."""
        rewards = np.zeros(self.count, np.float32)
        ended = np.zeros(self.count, np.float32)
        cut_off: list[tuple[int, Array]] = []
        for index, environment in enumerate(self._environments):
            observation, reward, terminated, truncated, _ = environment.step(actions[index])
            rewards[index] = reward
            self._returns[index] += float(reward)
            if terminated or truncated:
                if not terminated:
                    cut_off.append((index, np.asarray(observation, np.float32)))
                ended[index] = 1
                self.recent.append(float(self._returns[index]))
                self._returns[index] = 0
                observation = self._reset(environment)
            self._observations[index] = observation
        return rewards, ended, cut_off

    def _reset(self, environment: gymnasium.Env[Any, Any]) -> Array:
        observation, _ = environment.reset(seed=int(self._rng.integers(2**31)))
        return np.asarray(observation, np.float32)


@dataclass
class Collector:
    """Plays with the current policy. An episode that a time limit cut off is credited with the value of its last observation."""

    players: Players
    policy: Mlp
    value: Mlp
    action: ActionDistribution
    normaliser: Normaliser
    rng: np.random.Generator
    gamma: float
    reward_scale: float

    def collect(self, steps: int) -> Rollout:
        seen, actions, log_probabilities, rewards, ended, values = [], [], [], [], [], []
        raw = []
        for _ in range(steps):
            raw.append(self.players.observations())
            observation = self.normaliser.apply(raw[-1])
            outputs, _ = self.policy.forward(observation)
            action = self.action.sample(outputs, self.rng)
            reward, end, cut_off = self.players.step(self.action.for_environment(action))
            reward *= np.float32(self.reward_scale)
            for index, last in cut_off:
                reward[index] += np.float32(self.gamma) * self._value(last[None])[0]
            seen.append(observation)
            actions.append(action)
            log_probabilities.append(self.action.log_probability(outputs, action))
            rewards.append(reward)
            ended.append(end)
            values.append(self.value.forward(observation)[0][:, 0])
        values.append(self._value(self.players.observations()))
        arrays = [np.stack(column) for column in (seen, actions, log_probabilities, rewards, ended, values)]
        # The normaliser is updated after the rollout, so that all of the rollout is normalised in the same way.
        self.normaliser.update(np.concatenate(raw))
        return Rollout(*arrays)

    def _value(self, observations: Array) -> Array:
        return self.value.forward(self.normaliser.apply(observations))[0][:, 0]


def advantages(rollout: Rollout, gamma: float, decay: float) -> Array:
    """Computes generalised advantage estimates, [steps, environments] (Schulman et al. 2015, arXiv:1506.02438, equation 16)."""
    result = np.zeros_like(rollout.rewards)
    running = np.zeros_like(rollout.rewards[0])
    for step in reversed(range(len(result))):
        goes_on = 1 - rollout.ended[step]
        surprise = rollout.rewards[step] + gamma * rollout.values[step + 1] * goes_on - rollout.values[step]
        running = surprise + gamma * decay * goes_on * running
        result[step] = running
    return result

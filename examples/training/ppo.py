"""Proximal policy optimisation with a clipped objective.

Schulman, Wolski, Dhariwal, Radford and Klimov 2017, "Proximal Policy Optimization Algorithms", arXiv:1707.06347
(equation 7), with the customary details: normalised advantages and observations, orthogonal initial weights, a learning
rate that falls linearly to zero (Huang et al. 2022, "The 37 Implementation Details of Proximal Policy Optimization").
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import gymnasium
import numpy as np

from examples.training.action import ActionDistribution, Categorical, Gaussian
from examples.training.adam import Adam
from examples.training.mlp import Array, Mlp
from examples.training.normaliser import Normaliser
from examples.training.rollout import Collector, Players, Rollout, advantages

HIDDEN = [64, 64]
FIRST_POLICY_GAIN = 0.01


@dataclass(frozen=True)
class Settings:
    steps: int
    """Environment steps of the whole run, over all environments."""
    environments: int = 16
    horizon: int = 128
    """Steps of each environment between two updates."""
    epochs: int = 10
    minibatch: int = 256
    gamma: float = 0.99
    advantage_decay: float = 0.95
    clip: float = 0.2
    learning_rate: float = 3e-4
    entropy_weight: float = 0.0
    reward_scale: float = 1.0
    """Rewards are multiplied by it, so that the learnt values are of the order of 1 to 10."""
    squash: Literal["tanh", "clip"] = "tanh"
    initial_log_std: float = 0.0
    initial_mean: float = 0.0
    """The initial mean of every continuous action, before squashing."""


@dataclass(frozen=True)
class Moment:
    """The policy after an update. Its arrays change when the training continues."""

    step: int
    recent_returns: list[float]
    policy: Mlp
    action: ActionDistribution
    normaliser: Normaliser


def train(make: Callable[[int], gymnasium.Env[Any, Any]], settings: Settings, seed: int) -> Iterator[Moment]:
    """Yields after every update, first the untrained policy. `make(i)` makes the i-th of the environments that are played side by side."""
    start, play, shuffle, resets = (np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(4))
    players = Players(make, settings.environments, resets)
    sample = make(0)
    action = _action_distribution(sample.action_space, settings)
    observation_size = int(np.prod(sample.observation_space.shape or ()))
    policy = Mlp.initialise([observation_size, *HIDDEN, action.outputs], FIRST_POLICY_GAIN, start)
    if isinstance(action, Gaussian):
        policy.biases[-1] += np.float32(settings.initial_mean)
    value = Mlp.initialise([observation_size, *HIDDEN, 1], 1.0, start)
    normaliser = Normaliser.initialise(observation_size)
    collector = Collector(players, policy, value, action, normaliser, play, settings.gamma, settings.reward_scale)
    learner = Learner(policy, value, action, settings, shuffle)
    a_rollout = settings.environments * settings.horizon
    yield Moment(0, [], policy, action, normaliser)
    for step in range(0, settings.steps, a_rollout):
        rollout = collector.collect(settings.horizon)
        learner.learn(rollout, settings.learning_rate * (1 - step / settings.steps))
        yield Moment(step + a_rollout, list(players.recent), policy, action, normaliser)


def _action_distribution(space: gymnasium.Space[Any], settings: Settings) -> ActionDistribution:
    if isinstance(space, gymnasium.spaces.Discrete):
        return Categorical(space)
    if isinstance(space, gymnasium.spaces.Box):
        return Gaussian(space, settings.squash, np.full(space.shape, settings.initial_log_std, np.float32))
    raise TypeError(f"expected a Discrete or a Box action space, not {space}")


class Learner:
    """Improves policy and value from rollouts, in place."""

    def __init__(self, policy: Mlp, value: Mlp, action: ActionDistribution, settings: Settings, rng: np.random.Generator) -> None:
        self._policy, self._value, self._action, self._settings, self._rng = policy, value, action, settings, rng
        self._policy_optimiser = Adam([*policy.parameters, *action.parameters])
        self._value_optimiser = Adam(value.parameters)

    def learn(self, rollout: Rollout, learning_rate: float) -> None:
        settings = self._settings
        advantage = advantages(rollout, settings.gamma, settings.advantage_decay)
        target = (advantage + rollout.values[:-1]).reshape(-1)
        advantage = advantage.reshape(-1)
        # Joins the axes of steps and environments.
        observations, actions, log_probabilities = (
            column.reshape(-1, *column.shape[2:]) for column in (rollout.observations, rollout.actions, rollout.log_probabilities)
        )
        for _ in range(settings.epochs):
            order = self._rng.permutation(len(target))
            for first in range(0, len(order), settings.minibatch):
                chosen = order[first : first + settings.minibatch]
                self._improve_policy(observations[chosen], actions[chosen], log_probabilities[chosen], advantage[chosen], learning_rate)
                self._improve_value(observations[chosen], target[chosen], learning_rate)

    def _improve_policy(self, observations: Array, actions: Array, before: Array, advantage: Array, learning_rate: float) -> None:
        settings = self._settings
        advantage = (advantage - advantage.mean()) / (advantage.std() + np.float32(1e-8))
        outputs, entered = self._policy.forward(observations)
        ratio = np.exp(self._action.log_probability(outputs, actions) - before)
        # The objective is flat where the ratio has left its bounds in the direction of the advantage.
        beyond = np.where(advantage > 0, ratio > 1 + settings.clip, ratio < 1 - settings.clip)
        weight = np.where(beyond, np.float32(0), -advantage * ratio) / np.float32(len(actions))
        at_outputs, at_distribution = self._action.gradients(outputs, actions, weight, -settings.entropy_weight / len(actions))
        self._policy_optimiser.step([*self._policy.backward(entered, at_outputs), *at_distribution], learning_rate)

    def _improve_value(self, observations: Array, target: Array, learning_rate: float) -> None:
        outputs, entered = self._value.forward(observations)
        error = (outputs[:, 0] - target) / np.float32(len(target))
        self._value_optimiser.step(self._value.backward(entered, error[:, None]), learning_rate)

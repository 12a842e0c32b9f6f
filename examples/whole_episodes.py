"""Plays CartPole in whole episodes and saves the policy, for training loops with any framework.

Networks are played here in NumPy, from the weights that the framework trains: for one observation at a time that is many times faster.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import gymnasium
import numpy as np
from safetensors.numpy import save_file

from examples.training.mlp import Array, Mlp

HIDDEN = 64
STEPS_PER_UPDATE = 2048
EPOCHS = 10
MINIBATCH = 256
GAMMA, DECAY = 0.99, 0.95
CLIP = 0.2
LEARNING_RATE = 1e-3


@dataclass(frozen=True)
class Batch:
    """Steps of whole episodes: [step, …], float32, and int64 for actions."""

    observations: Array
    actions: Array
    log_probabilities: Array
    """The log-probabilities of the actions under the policy that played them."""
    advantages: Array
    targets: Array
    """The future returns, which the value network should have predicted."""
    episodes: int

    def minibatches(self, rng: np.random.Generator) -> Iterator["Batch"]:
        """Yields all steps in random order, `EPOCHS` times, with the advantages of each minibatch normalised."""
        for _ in range(EPOCHS):
            order = rng.permutation(len(self.actions))
            for first in range(0, len(order), MINIBATCH):
                yield self._chosen(order[first : first + MINIBATCH])

    def _chosen(self, steps: Array) -> "Batch":
        advantages = self.advantages[steps]
        advantages = (advantages - advantages.mean()) / (advantages.std() + np.float32(1e-8))
        return Batch(
            self.observations[steps], self.actions[steps], self.log_probabilities[steps], advantages, self.targets[steps], self.episodes
        )


@dataclass(frozen=True)
class Episode:
    observations: Array
    """The observations, including the last one."""
    actions: Array
    fell: bool
    """Whether the pole fell. If not, the episode was cut off and would have continued."""


class CartPole:
    def __init__(self, rng: np.random.Generator) -> None:
        self._environment = gymnasium.make("CartPole-v1", disable_env_checker=True)
        self._rng = rng

    def play(self, policy: Mlp, value: Mlp) -> Batch:
        """Plays enough episodes for an update."""
        episodes: list[Episode] = []
        while sum(len(episode.actions) for episode in episodes) < STEPS_PER_UPDATE:
            episodes.append(self._episode(policy))
        seen = [_seen(episode, policy, value) for episode in episodes]
        return Batch(*(np.concatenate(column) for column in zip(*seen, strict=True)), episodes=len(episodes))

    def _episode(self, policy: Mlp) -> Episode:
        observation, _ = self._environment.reset(seed=int(self._rng.integers(2**31)))
        observations, actions, ended, fell = [observation], [], False, False
        while not ended:
            probabilities = np.exp(_log_softmax(policy.forward(observation[None])[0]))[0]
            action = int(self._rng.random() >= probabilities[0])
            observation, _, fell, cut, _ = self._environment.step(action)
            observations.append(observation)
            actions.append(action)
            ended = fell or cut
        return Episode(np.stack(observations), np.array(actions), fell)


def _seen(episode: Episode, policy: Mlp, value: Mlp) -> tuple[Array, Array, Array, Array, Array]:
    """Returns the fields of a `Batch`. Every step is worth 1."""
    observations, actions = episode.observations, episode.actions
    values = value.forward(observations)[0][:, 0]
    if episode.fell:
        values[-1] = 0
    log_probabilities = _log_softmax(policy.forward(observations[:-1])[0])[np.arange(len(actions)), actions]
    scale = 1 - GAMMA  # this keeps values of the order of 1
    surprises = scale + GAMMA * values[1:] - values[:-1]
    advantages, to_come = np.zeros(len(actions), np.float32), 0.0
    for at in reversed(range(len(actions))):
        to_come = float(surprises[at]) + GAMMA * DECAY * to_come
        advantages[at] = to_come
    return observations[:-1], actions, log_probabilities, advantages, advantages + values[:-1]


def _log_softmax(logits: Array) -> Array:
    logits = logits - logits.max(axis=1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))


def save_policy(path: Path, policy: Mlp) -> None:
    """Writes the policy in the format muster-mlp/1, which Muster's runner plays without code of the checkpoint."""
    layers = [f"l{at}" for at in range(len(policy.weights))]
    tensors = {f"{layer}.weight": np.ascontiguousarray(weight) for layer, weight in zip(layers, policy.weights, strict=True)}
    tensors |= {f"{layer}.bias": bias for layer, bias in zip(layers, policy.biases, strict=True)}
    architecture = {
        "format": "muster-mlp/1",
        "layers": layers,
        "activation": "tanh",
        "action": {"kind": "discrete"},
        "normalise": False,
    }
    save_file(tensors, path, {"muster": json.dumps(architecture)})

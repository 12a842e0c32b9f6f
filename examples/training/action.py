"""Distributions over actions: what a policy's outputs mean, their log-probabilities and gradients."""

from dataclasses import dataclass
from typing import Literal, Protocol

import gymnasium
import numpy as np

from examples.training.mlp import Array


class ActionDistribution(Protocol):
    """`outputs` are the network's, [batch, out]. What is sampled is what `log_probability` takes, before any squashing."""

    @property
    def outputs(self) -> int: ...

    @property
    def description(self) -> dict[str, str]:
        """Returns the description in the checkpoint's metadata."""
        ...

    @property
    def parameters(self) -> list[Array]: ...

    def sample(self, outputs: Array, rng: np.random.Generator) -> Array: ...

    def best(self, outputs: Array) -> Array: ...

    def for_environment(self, actions: Array) -> Array: ...

    def log_probability(self, outputs: Array, actions: Array) -> Array: ...

    def gradients(self, outputs: Array, actions: Array, weight: Array, entropy_weight: float) -> tuple[Array, list[Array]]:
        """Returns the gradients of Σ weight · log-probability + entropy_weight · Σ entropy: at the outputs, and at `parameters`."""
        ...


class Categorical:
    """One of n actions, by the softmax of n logits."""

    def __init__(self, space: gymnasium.spaces.Discrete) -> None:
        self._actions = int(space.n)

    @property
    def outputs(self) -> int:
        return self._actions

    @property
    def description(self) -> dict[str, str]:
        return {"kind": "discrete"}

    @property
    def parameters(self) -> list[Array]:
        return []

    def sample(self, outputs: Array, rng: np.random.Generator) -> Array:
        # The Gumbel-max trick: the greatest of the logits with Gumbel noise is a draw from their softmax.
        drawn: Array = np.argmax(outputs + rng.gumbel(size=outputs.shape), axis=1)
        return drawn

    def best(self, outputs: Array) -> Array:
        likeliest: Array = np.argmax(outputs, axis=1)
        return likeliest

    def for_environment(self, actions: Array) -> Array:
        return actions

    def log_probability(self, outputs: Array, actions: Array) -> Array:
        return np.take_along_axis(_log_softmax(outputs), actions[:, None], axis=1)[:, 0]

    def gradients(self, outputs: Array, actions: Array, weight: Array, entropy_weight: float) -> tuple[Array, list[Array]]:
        logs = _log_softmax(outputs)
        probabilities = np.exp(logs)
        chosen = -probabilities
        chosen[np.arange(len(actions)), actions] += 1
        entropies = -(probabilities * logs).sum(axis=1, keepdims=True)
        return weight[:, None] * chosen - entropy_weight * probabilities * (logs + entropies), []


@dataclass
class Gaussian:
    """Independent normal components around the outputs, with a learned scale that does not depend on the observation.

    "tanh": squashed to [-1, 1], then scaled to the box; "clip": cut off at the box.
    """

    space: gymnasium.spaces.Box
    squash: Literal["tanh", "clip"]
    log_std: Array

    @property
    def outputs(self) -> int:
        return len(self.log_std)

    @property
    def description(self) -> dict[str, str]:
        return {"kind": "continuous", "squash": self.squash}

    @property
    def parameters(self) -> list[Array]:
        return [self.log_std]

    def sample(self, outputs: Array, rng: np.random.Generator) -> Array:
        return outputs + np.exp(self.log_std) * rng.standard_normal(outputs.shape, dtype=np.float32)

    def best(self, outputs: Array) -> Array:
        return outputs

    def for_environment(self, actions: Array) -> Array:
        low, high = self.space.low, self.space.high
        if self.squash == "clip":
            return np.clip(actions, low, high)
        return low + (np.tanh(actions) + 1) / 2 * (high - low)

    def log_probability(self, outputs: Array, actions: Array) -> Array:
        # The squashing's Jacobian is left out: it does not depend on the policy, so it cancels in PPO's ratio.
        standard = (actions - outputs) / np.exp(self.log_std)
        of_components = -0.5 * standard**2 - self.log_std - 0.5 * np.log(2 * np.pi)
        joint: Array = of_components.sum(axis=1, dtype=np.float32)
        return joint

    def gradients(self, outputs: Array, actions: Array, weight: Array, entropy_weight: float) -> tuple[Array, list[Array]]:
        deviation = np.exp(self.log_std)
        standard = (actions - outputs) / deviation
        scale_gradient = (weight[:, None] * (standard**2 - 1)).sum(axis=0) + entropy_weight * len(outputs)
        return weight[:, None] * standard / deviation, [scale_gradient.astype(np.float32)]


def _log_softmax(logits: Array) -> Array:
    shifted: Array = logits - logits.max(axis=1, keepdims=True)
    normalised: Array = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return normalised

"""Trains CartPole with PyTorch on the CPU, evaluates after every update, and ends when the target is certified.

    ./muster serve --config muster.yaml        # server.suites: { cartpole: …/examples/game/cartpole.yaml }
    MUSTER_URL=http://127.0.0.1:7677 python -m examples.training_loop

Proximal policy optimisation (Schulman et al. 2017, arXiv:1707.06347, equation 7) on whole episodes, with generalised advantages
(Schulman et al. 2016, arXiv:1506.02438). examples/training/ has the same written out in NumPy.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import gymnasium
import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from examples.evaluated_training import main

HIDDEN = 64
STEPS_PER_UPDATE = 2048
EPOCHS = 10
MINIBATCH = 256
GAMMA, DECAY = 0.99, 0.95
CLIP = 0.2
LEARNING_RATE = 1e-3


@dataclass(frozen=True)
class Batch:
    """Steps of whole episodes, [step, …]."""

    observations: Tensor
    actions: Tensor
    log_probabilities: Tensor
    advantages: Tensor
    targets: Tensor
    """Returns to come, as the value network should have foretold them."""


class CartPoleLearner:
    def __init__(self, seed: int) -> None:
        torch.manual_seed(seed)
        torch.set_num_threads(1)  # networks this small are slower on more
        self._environment = gymnasium.make("CartPole-v1", disable_env_checker=True)
        self._seeds = np.random.default_rng(seed)
        self._policy, self._value = _network(2), _network(1)
        self._optimiser = torch.optim.Adam([*self._policy.parameters(), *self._value.parameters()], LEARNING_RATE)
        self.step = 0

    def improve(self) -> float:
        episodes = self._played()
        batch = Batch(*(torch.cat(parts) for parts in zip(*(self._seen(*episode) for episode in episodes), strict=True)))
        self.step += len(batch.actions)
        for _ in range(EPOCHS):
            for chosen in torch.randperm(len(batch.actions)).split(MINIBATCH):
                self._optimiser.zero_grad()
                self._loss(batch, chosen).backward()
                self._optimiser.step()
        return len(batch.actions) / len(episodes)

    def save(self, path: Path) -> None:
        """As Muster's runner plays it without any code of ours: format muster-mlp/1."""
        linear = [layer for layer in self._policy if isinstance(layer, nn.Linear)]
        tensors = {f"l{at}.{name}": value.detach() for at, layer in enumerate(linear) for name, value in layer.named_parameters()}
        layers = [f"l{at}" for at in range(len(linear))]
        architecture = {
            "format": "muster-mlp/1",
            "layers": layers,
            "activation": "tanh",
            "action": {"kind": "discrete"},
            "normalise": False,
        }
        save_file(tensors, path, {"muster": json.dumps(architecture)})

    def _played(self) -> list[tuple[Tensor, Tensor, bool]]:
        """Observations (the last one included), actions, and whether the pole fell, of as many episodes as make enough steps."""
        episodes, steps = [], 0
        while steps < STEPS_PER_UPDATE:
            observation, _ = self._environment.reset(seed=int(self._seeds.integers(2**31)))
            observations, actions, ended, fell = [observation], [], False, False
            while not ended:
                with torch.no_grad():
                    logits = self._policy(torch.as_tensor(observation))
                action = int(torch.distributions.Categorical(logits=logits).sample())
                observation, _, fell, cut, _ = self._environment.step(action)
                observations.append(observation)
                actions.append(action)
                ended = fell or cut
            steps += len(actions)
            episodes.append((torch.as_tensor(np.stack(observations)), torch.tensor(actions), fell))
        return episodes

    def _seen(self, observations: Tensor, actions: Tensor, fell: bool) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """An episode as the fields of a `Batch`. Every step is worth 1; one that was cut off would have gone on."""
        with torch.no_grad():
            values = self._value(observations).squeeze(1)
            log_probabilities = _log_probabilities(self._policy(observations[:-1]), actions)
        if fell:
            values[-1] = 0
        scale = 1 - GAMMA  # values of the order of 1
        surprises = scale + GAMMA * values[1:] - values[:-1]
        advantages, to_come = torch.zeros(len(actions)), 0.0
        for at in reversed(range(len(actions))):
            to_come = float(surprises[at]) + GAMMA * DECAY * to_come
            advantages[at] = to_come
        return observations[:-1], actions, log_probabilities, advantages, advantages + values[:-1]

    def _loss(self, batch: Batch, chosen: Tensor) -> Tensor:
        observations, advantages = batch.observations[chosen], batch.advantages[chosen]
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        ratio = torch.exp(_log_probabilities(self._policy(observations), batch.actions[chosen]) - batch.log_probabilities[chosen])
        gain = torch.minimum(ratio * advantages, ratio.clamp(1 - CLIP, 1 + CLIP) * advantages).mean()
        return nn.functional.mse_loss(self._value(observations).squeeze(1), batch.targets[chosen]) - gain


def _network(outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, outputs))


def _log_probabilities(logits: Tensor, actions: Tensor) -> Tensor:
    return torch.log_softmax(logits, 1).gather(1, actions[:, None]).squeeze(1)


if __name__ == "__main__":
    raise SystemExit(main(CartPoleLearner, __doc__, "cartpole-torch"))

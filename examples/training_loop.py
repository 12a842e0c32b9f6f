"""Trains CartPole with PyTorch on the CPU, evaluates after every update, and ends when the target is certified.

    ./muster serve --config muster.yaml        # server.suites: { cartpole: …/examples/game/cartpole.yaml }
    MUSTER_URL=http://127.0.0.1:7677 python -m examples.training_loop

Proximal policy optimisation (Schulman et al. 2017, arXiv:1707.06347, equation 7) on whole episodes, with generalised advantages
(Schulman et al. 2016, arXiv:1506.02438). training_loop_keras.py is the same with Keras; examples/training/ has it written out in NumPy.
"""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from examples.evaluated_training import main
from examples.training.mlp import Mlp
from examples.whole_episodes import CLIP, HIDDEN, LEARNING_RATE, Batch, CartPole, save_policy


class CartPoleLearner:
    def __init__(self, seed: int) -> None:
        torch.manual_seed(seed)
        torch.set_num_threads(1)  # networks this small are slower on more
        self._rng = np.random.default_rng(seed)
        self._game = CartPole(self._rng)
        self._policy, self._value = _network(2), _network(1)
        self._optimiser = torch.optim.Adam([*self._policy.parameters(), *self._value.parameters()], LEARNING_RATE)
        self.step = 0

    def improve(self) -> float:
        batch = self._game.play(_weights(self._policy), _weights(self._value))
        self.step += len(batch.actions)
        for some in batch.minibatches(self._rng):
            self._optimiser.zero_grad()
            self._loss(some).backward()
            self._optimiser.step()
        return len(batch.actions) / batch.episodes

    def save(self, path: Path) -> None:
        save_policy(path, _weights(self._policy))

    def _loss(self, batch: Batch) -> Tensor:
        arrays = (batch.observations, batch.actions, batch.log_probabilities, batch.advantages, batch.targets)
        observations, actions, before, advantages, targets = map(torch.from_numpy, arrays)
        log_probabilities = torch.log_softmax(self._policy(observations), 1).gather(1, actions[:, None]).squeeze(1)
        ratio = torch.exp(log_probabilities - before)
        gain = torch.minimum(ratio * advantages, ratio.clamp(1 - CLIP, 1 + CLIP) * advantages).mean()
        return nn.functional.mse_loss(self._value(observations).squeeze(1), targets) - gain


def _network(outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, outputs))


def _weights(network: nn.Sequential) -> Mlp:
    """Returns the present weights, without a copy."""
    layers = [layer for layer in network if isinstance(layer, nn.Linear)]
    return Mlp([layer.weight.detach().numpy() for layer in layers], [layer.bias.detach().numpy() for layer in layers])


if __name__ == "__main__":
    raise SystemExit(main(CartPoleLearner, __doc__, "cartpole-torch"))

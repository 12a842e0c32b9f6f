"""Trains CartPole with Keras and TensorFlow on the CPU, evaluates after every update, and ends when the target is certified.

    ./muster serve --config muster.yaml        # server.suites: { cartpole: …/examples/game/cartpole.yaml }
    MUSTER_URL=http://127.0.0.1:7677 python -m examples.training_loop_keras

The same as training_loop.py, which names its sources, with another framework.
"""

from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from examples.evaluated_training import main
from examples.training.mlp import Mlp
from examples.whole_episodes import CLIP, HIDDEN, LEARNING_RATE, Batch, CartPole, save_policy


class CartPoleLearner:
    def __init__(self, seed: int) -> None:
        keras.utils.set_random_seed(seed)
        self._rng = np.random.default_rng(seed)
        self._game = CartPole(self._rng)
        self._policy, self._value = _network(2), _network(1)
        self._optimiser = keras.optimizers.Adam(LEARNING_RATE)
        self._descend = tf.function(self._step, reduce_retracing=True)
        self.step = 0

    def improve(self) -> float:
        batch = self._game.play(_weights(self._policy), _weights(self._value))
        self.step += len(batch.actions)
        for some in batch.minibatches(self._rng):
            self._descend(*map(tf.constant, _columns(some)))
        return len(batch.actions) / batch.episodes

    def save(self, path: Path) -> None:
        save_policy(path, _weights(self._policy))

    def _step(self, observations: Any, actions: Any, before: Any, advantages: Any, targets: Any) -> None:
        with tf.GradientTape() as tape:
            log_probabilities = tf.gather(tf.nn.log_softmax(self._policy(observations)), actions, axis=1, batch_dims=1)
            ratio = tf.exp(log_probabilities - before)
            gain = tf.reduce_mean(tf.minimum(ratio * advantages, tf.clip_by_value(ratio, 1 - CLIP, 1 + CLIP) * advantages))
            loss = tf.reduce_mean(tf.square(self._value(observations)[:, 0] - targets)) - gain
        variables = [*self._policy.trainable_variables, *self._value.trainable_variables]
        self._optimiser.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))


def _columns(batch: Batch) -> tuple[Any, ...]:
    return batch.observations, batch.actions, batch.log_probabilities, batch.advantages, batch.targets


def _network(outputs: int) -> keras.Sequential:
    hidden = [keras.layers.Dense(HIDDEN, activation="tanh") for _ in range(2)]
    return keras.Sequential([keras.Input((4,)), *hidden, keras.layers.Dense(outputs)])


def _weights(network: keras.Sequential) -> Mlp:
    """Returns the present weights. Keras has the inputs first, a checkpoint the outputs."""
    pairs = [layer.get_weights() for layer in network.layers]
    return Mlp([kernel.T for kernel, _ in pairs], [bias for _, bias in pairs])


if __name__ == "__main__":
    raise SystemExit(main(CartPoleLearner, __doc__, "cartpole-keras"))

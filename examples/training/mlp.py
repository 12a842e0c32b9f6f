"""A multilayer perceptron with its gradient, written out."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
"""float32 throughout, and integers for discrete actions. NumPy's annotations lose the type in arithmetic."""


@dataclass
class Mlp:
    """Linear layers with tanh between them: `weights[i]` is [out, in], `biases[i]` is [out]."""

    weights: list[Array]
    biases: list[Array]

    @staticmethod
    def initialise(sizes: list[int], output_gain: float, rng: np.random.Generator) -> "Mlp":
        """Draws orthogonal weights (Saxe et al. 2013, arXiv:1312.6120), zero biases.

        `sizes` are the widths from input to output. A small `output_gain` makes the first policy nearly uniform.
        """
        gains = [2**0.5] * (len(sizes) - 2) + [output_gain]
        pairs = zip(sizes[:-1], sizes[1:], gains, strict=True)
        weights = [_orthogonal(outputs, inputs, rng) * np.float32(gain) for inputs, outputs, gain in pairs]
        return Mlp(weights, [np.zeros(size, np.float32) for size in sizes[1:]])

    @property
    def parameters(self) -> list[Array]:
        return [*self.weights, *self.biases]

    def forward(self, inputs: Array) -> tuple[Array, list[Array]]:
        """Maps [batch, in] to [batch, out], and to the inputs of each layer, for `backward`."""
        entered = [inputs]
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            entered.append(np.tanh(entered[-1] @ weight.T + bias))
        return entered[-1] @ self.weights[-1].T + self.biases[-1], entered

    def backward(self, entered: list[Array], output_gradient: Array) -> list[Array]:
        """Returns gradients of the loss in the order of `parameters`, given its gradient at the output, [batch, out]."""
        weight_gradients: list[Array] = []
        bias_gradients: list[Array] = []
        gradient = output_gradient
        for weight, inputs in zip(reversed(self.weights), reversed(entered), strict=True):
            weight_gradients.append(gradient.T @ inputs)
            bias_gradients.append(gradient.sum(axis=0))
            # This product is not needed at the first layer, where the loop ends.
            gradient = (gradient @ weight) * (1 - inputs * inputs)
        return [*reversed(weight_gradients), *reversed(bias_gradients)]


def _orthogonal(rows: int, columns: int, rng: np.random.Generator) -> Array:
    tall, wide = max(rows, columns), min(rows, columns)
    q, r = np.linalg.qr(rng.standard_normal((tall, wide)))
    # The sign makes the factorisation unique, and the draw uniform over the orthogonal matrices.
    q *= np.sign(np.diag(r))
    return (q if rows >= columns else q.T).astype(np.float32)

"""Adam (Kingma and Ba 2014, arXiv:1412.6980), with the gradient's norm bounded first."""

import numpy as np

from examples.training.mlp import Array

FIRST_DECAY = 0.9
SECOND_DECAY = 0.999
EPSILON = 1e-5
LARGEST_GRADIENT_NORM = 0.5


class Adam:
    """Changes the given arrays in place."""

    def __init__(self, parameters: list[Array]) -> None:
        self._parameters = parameters
        self._first = [np.zeros_like(parameter) for parameter in parameters]
        self._second = [np.zeros_like(parameter) for parameter in parameters]
        self._steps = 0

    def step(self, gradients: list[Array], learning_rate: float) -> None:
        """Makes one descent step; `gradients` in the order of the parameters."""
        self._steps += 1
        norm = float(np.sqrt(sum(float(np.vdot(gradient, gradient)) for gradient in gradients)))
        shrink = np.float32(min(1.0, LARGEST_GRADIENT_NORM / (norm + 1e-8)))
        first_correction = 1 - FIRST_DECAY**self._steps
        second_correction = 1 - SECOND_DECAY**self._steps
        moments = zip(self._parameters, gradients, self._first, self._second, strict=True)
        for parameter, gradient, first, second in moments:
            bounded = gradient * shrink
            first += (1 - FIRST_DECAY) * (bounded - first)
            second += (1 - SECOND_DECAY) * (bounded * bounded - second)
            parameter -= learning_rate * (first / first_correction) / (np.sqrt(second / second_correction) + EPSILON)

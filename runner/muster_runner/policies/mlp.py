"""Computes a multilayer perceptron, for one observation or for many."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from muster_runner.json_fields import (
    FieldError,
    Object,
    as_choice,
    as_flag,
    as_list,
    as_object,
    as_text,
    only,
    required,
)
from muster_runner.policies.action_head import ActionKind, Continuous, count_outputs, make_action_head, parse_action
from muster_runner.policies.checkpoint import Fit
from muster_runner.policies.network_policy import Forward, NetworkPolicy
from muster_runner.policies.network_rows import NetworkRows, RowsForward
from muster_runner.policies.observation_input import Normalisation, count_inputs, for_each_row, make_observation_input
from muster_runner.policies.policy import Array, Dice, Policy
from muster_runner.policies.rows_head import make_rows_head
from muster_runner.policies.rows_input import RowsInput
from muster_runner.policies.rows_policy import Rows, RowsPolicy
from muster_runner.refusal import PolicyRefusal

FORMAT = "muster-mlp/1"


@dataclass(frozen=True)
class Architecture:
    """The network's structure, from the metadata of the file."""

    layers: tuple[str, ...]
    activation: Literal["tanh", "relu"]
    action: ActionKind
    normalise: bool


def parse_architecture(value: Object) -> Architecture:
    """Parses the metadata. @raises FieldError"""
    as_choice(required(value, "format", "muster", f'"{FORMAT}"'), "muster.format", (FORMAT,))
    only(value, ("format", "layers", "activation", "action", "normalise"), "muster")
    layers = as_list(required(value, "layers", "muster", "the names of the linear layers, from input to output"), "muster.layers")
    if not layers:
        raise FieldError("muster.layers is empty, expected at least one name")
    activation = as_choice(required(value, "activation", "muster", '"tanh" or "relu"'), "muster.activation", ("tanh", "relu"))
    action = required(value, "action", "muster", 'what the outputs mean, such as {"kind": "discrete"}')
    return Architecture(
        layers=tuple(as_text(layer, f"muster.layers[{i}]") for i, layer in enumerate(layers)),
        activation="tanh" if activation == "tanh" else "relu",
        action=parse_action(as_object(action, "muster.action"), "muster.action"),
        normalise=as_flag(required(value, "normalise", "muster", "true or false"), "muster.normalise"),
    )


@dataclass(frozen=True)
class Mlp:
    """Linear layers with the activation between them. `weights[i]` is [out, in], `biases[i]` is [out], all with one dtype."""

    weights: tuple[Array, ...]
    biases: tuple[Array, ...]
    activation: Literal["tanh", "relu"]
    action: ActionKind
    log_std: Array | None
    normalisation: Normalisation | None

    def fit(self, fit: Fit, /) -> Policy:
        """Makes a policy for single observations. @raises PolicyRefusal"""
        self._check(fit)
        dice = Dice()
        encode = make_observation_input(fit.observation_space, self.weights[0].dtype, self.normalisation)
        head = make_action_head(self.action, fit.action_space, fit.deterministic, dice)
        return NetworkPolicy(self._make_forward(encode), head, dice, fit.deterministic)

    def fit_rows(self, fit: Fit, rows: int, /) -> RowsPolicy:
        """Makes a policy for many rows. @raises PolicyRefusal"""
        self._check(fit)
        encode = RowsInput(fit.observation_space, self.weights[0].dtype, self.normalisation, rows)
        head = make_rows_head(self.action, fit.action_space, fit.deterministic, rows)
        return NetworkRows(encode, self._make_rows_forward(rows), head)

    def _check(self, fit: Fit) -> None:
        takes, gives = self.weights[0].shape[1], self.weights[-1].shape[0]
        observed, expected = count_inputs(fit.observation_space), count_outputs(self.action, fit.action_space)
        if takes != observed:
            raise PolicyRefusal(f"the policy takes {takes} numbers, the environment gives {observed}")
        if gives != expected:
            raise PolicyRefusal(f"the policy gives {gives} outputs, the action space {fit.action_space} needs {expected}")
        if not fit.deterministic and isinstance(self.action, Continuous) and self.log_std is None:
            raise PolicyRefusal('stochastic actions need the tensor "action.log_std", and the checkpoint has none')

    def _make_forward(self, encode: Callable[[Any], Array]) -> Forward:
        """Makes the forward pass. It writes into buffers that are made once: allocating at each step would cost a tenth of the speed."""
        dtype = self.weights[0].dtype
        buffers = [np.empty(len(bias), dtype) for bias in self.biases]
        *hidden, (last_weight, last_bias, output) = zip(self.weights, self.biases, buffers, strict=True)
        dot, add, log_std = np.dot, np.add, self.log_std
        activate = _make_activation(self.activation, dtype)

        def forward(observation: Any) -> tuple[Array, Array | None]:
            x = encode(observation)
            for weight, bias, buffer in hidden:
                dot(weight, x, buffer)
                add(buffer, bias, buffer)
                activate(buffer)
                x = buffer
            dot(last_weight, x, output)
            add(output, last_bias, output)
            return output, log_std

        return forward

    def _make_rows_forward(self, rows: int) -> RowsForward:
        dtype = self.weights[0].dtype
        buffers = [np.empty((rows, len(bias)), dtype) for bias in self.biases]
        # BLAS takes a transposed view without a copy.
        weights, biases = [weight.T for weight in self.weights], [for_each_row(bias, rows) for bias in self.biases]
        *hidden, (last_weight, last_bias, last_buffer) = zip(weights, biases, buffers, strict=True)
        dot, add, log_std = np.dot, np.add, self.log_std
        activate = _make_activation(self.activation, dtype)

        def forward(_rows: Rows, x: Array) -> tuple[Array, Array | None]:
            count = len(x)
            for weight, bias, buffer in hidden:
                part = buffer[:count]
                dot(x, weight, part)
                add(part, bias[:count], part)
                activate(part)
                x = part
            output = last_buffer[:count]
            dot(x, last_weight, output)
            add(output, last_bias[:count], output)
            return output, log_std

        return forward


def _make_activation(name: Literal["tanh", "relu"], dtype: Any) -> Callable[[Array], Any]:
    """Returns a function that applies the activation in place."""
    if name == "tanh":
        hyperbolic = np.tanh
        return lambda x: hyperbolic(x, x)
    maximum, zero = np.maximum, np.zeros((), dtype)
    return lambda x: maximum(x, zero, out=x)

"""Keras: its models as portable files, and a callback that evaluates beside `fit`.

from muster.keras import MusterCallback, snapshot

model.fit(…, callbacks=[MusterCallback("cartpole.yaml", every=500, export=lambda model: snapshot(model, …))])
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Unpack

import keras
import numpy as np

from muster.exporting.errors import ExportError
from muster.exporting.network import (
    Activation,
    ActivationKind,
    Array,
    Convolution,
    Flatten,
    Layer,
    LayerNorm,
    Linear,
    Network,
    Pad,
    Part,
    Permute,
)
from muster.exporting.onnx_graph import PREPROCESSED
from muster.exporting.parity import TRACED, Reference
from muster.exporting.snapshot import Snapshot
from muster.exporting.torch_policy import Squash, choose_best_actions, describe_action
from muster.training.evaluator import TrainingEvaluator
from muster.training.periodic import EvaluatorOptions, PeriodicEvaluator
from muster.training.standing import Score
from muster.training.work import Written
from muster_client import SuiteLike
from muster_client.arguments import suggests_keywords

HOW = "Save it with model.save: Muster plays `.keras` files as they are (docs/checkpoints.md)"
KINDS: dict[str, ActivationKind] = {name: name for name in ("tanh", "relu", "sigmoid", "elu", "selu", "softplus", "silu")}


@suggests_keywords
def snapshot(model: Any, observation_space: Any, action_space: Any, observations: Sequence[Any], *, squash: Squash = "clip") -> Snapshot:
    """Copies a model's weights, and what it does with some observations; the training may go on.

    @param model: layers one after the other (Dense, Conv2D with the channels last, activations, LayerNormalization, Flatten, Dropout), from
        observations [n, …] to logits of a Discrete or MultiDiscrete action space, or to the means of a Box, [n, out].
    @param observations: single ones, as the environment gives them, on which the exported policy is compared: 1,000 are enough.
    @param squash: how the mean of a Box comes into its bounds.
    Raises ExportError naming the layer that is not known, or the space that cannot be exported.
    """
    layers = tuple(layer for one in _in_a_row(model) for layer in _read_layers(one))
    network = Network(
        parts=(Part("", tuple(observation_space.shape), (), ()),), layers=layers, action=describe_action(action_space, squash), bytes=False
    )
    rows = np.stack([np.asarray(observation, np.float32) for observation in observations])
    outputs = np.asarray(keras.ops.convert_to_numpy(model(rows, training=False)))
    actions, logits = choose_best_actions(outputs, action_space, squash)
    traces = {PREPROCESSED: rows[:TRACED], **_trace_layers(model, rows[:TRACED])}
    return Snapshot(network, Reference(observation_space, action_space, list(observations), actions, logits, traces))


class MusterCallback(keras.callbacks.Callback):
    """Has the model that `fit` trains evaluated every so many batches, while the training goes on.

    The policy at the end of `fit` is always evaluated, and waited for. An interrupt leaves `fit` without its end: call `close` then.

    @param every: batches between two checkpoints.
    @param export: takes the policy out of the model as it is: `snapshot`, for one.
    The other parameters are those of TrainingEvaluator.
    """

    @suggests_keywords
    def __init__(self, suite: SuiteLike, *, every: int, export: Callable[[Any], Written], **options: Unpack[EvaluatorOptions]) -> None:
        super().__init__()
        self._periodic = PeriodicEvaluator(suite, every, **options)
        self._export = export
        self._batches = 0

    @property
    def best(self) -> Score | None:
        """The score of the best checkpoint. Another one replaces it when its interval lies above this one's."""
        return self._periodic.best

    @property
    def evaluator(self) -> TrainingEvaluator:
        return self._periodic.evaluator

    def on_train_begin(self, logs: Any = None) -> None:  # noqa: ARG002
        self._periodic.begin(self._batches)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
        self._batches += 1
        if not self._periodic.step(self._batches, lambda: self._export(self.model)):
            self.model.stop_training = True

    def on_train_end(self, logs: Any = None) -> None:  # noqa: ARG002
        self._periodic.finish(self._batches, lambda: self._export(self.model))

    def close(self) -> None:
        """Ends the thread and the server after a training that has failed. Accepted checkpoints stay in the directory."""
        self._periodic.close()


def _in_a_row(model: Any) -> list[Any]:
    """Returns the model's layers, if each takes the output of the one before."""
    layers = [layer for layer in model.layers if type(layer).__name__ != "InputLayer"]
    for before, after in pairwise(layers):
        if after.input is not before.output:
            raise ExportError(f"the layer {after.name} has another input than what {before.name} gives. {HOW}")
    return layers


def _read_layers(layer: Any) -> tuple[Layer, ...]:
    kind = type(layer).__name__
    match kind:
        case "Dense":
            kernel = _copy_array(layer.kernel).T.copy()
            bias = _copy_array(layer.bias) if layer.use_bias else np.zeros(len(kernel), np.float32)
            return (Linear(layer.name, kernel, bias), *_read_activation(layer))
        case "Conv2D":
            return (*_read_convolution(layer), *_read_activation(layer))
        case "Activation" | "ReLU" | "ELU" | "LeakyReLU":
            return _read_activation(layer) if kind == "Activation" else (_make_activation(layer, kind),)
        case "LayerNormalization":
            if layer.axis not in (-1, [-1]) or layer.gamma is None or layer.beta is None:
                raise ExportError(f"the layer {layer.name} normalises the axes {layer.axis}; expected the last, with weights. {HOW}")
            return (LayerNorm(layer.name, _copy_array(layer.gamma), _copy_array(layer.beta), float(layer.epsilon)),)
        case "Flatten":
            return (Flatten(layer.name),)
        case "Dropout":
            return ()
        case _:
            raise ExportError(f"the layer {layer.name} is a {kind}, which is not known. {HOW}")


def _read_convolution(layer: Any) -> tuple[Layer, ...]:
    """Reads a convolution. Keras has the channels last, the exported convolution has them first."""
    if layer.data_format != "channels_last":
        raise ExportError(f"the layer {layer.name} has {layer.data_format}; expected channels_last. {HOW}")
    name, kernel = layer.name, _copy_array(layer.kernel).transpose(3, 2, 0, 1).copy()
    bias = _copy_array(layer.bias) if layer.use_bias else np.zeros(len(kernel), np.float32)
    (down, across), (tall, wide) = layer.strides, layer.dilation_rate
    convolution = Convolution(f"{name}.convolution", kernel, bias, (down, across), (0, 0), (tall, wide), int(layer.groups))
    return (Permute(f"{name}.first", (2, 0, 1)), *_read_padding(layer), convolution, Permute(name, (1, 2, 0)))


def _read_padding(layer: Any) -> tuple[Layer, ...]:
    """Reads the padding. `same` puts the extra row and column of an odd number at the bottom and on the right."""
    if layer.padding == "valid":
        return ()
    sizes = layer.input.shape[1:3]
    if None in sizes:
        raise ExportError(f"the layer {layer.name} takes images of any size; give the model an Input with the size of observations. {HOW}")
    height, width = (
        max((-(-size // stride) - 1) * stride + (kernel - 1) * dilation + 1 - size, 0)
        for size, kernel, stride, dilation in zip(sizes, layer.kernel_size, layer.strides, layer.dilation_rate, strict=True)
    )
    return (Pad(f"{layer.name}.padded", height // 2, width // 2, height - height // 2, width - width // 2),)


def _read_activation(layer: Any) -> tuple[Layer, ...]:
    name = keras.activations.serialize(layer.activation)
    if name == "linear":
        return ()
    if name not in KINDS:
        raise ExportError(f"the layer {layer.name} has the activation {name}; expected one of {', '.join(KINDS)}. {HOW}")
    return (Activation(f"{layer.name}.{name}", KINDS[name], 1.0 if name == "elu" else None),)


def _make_activation(layer: Any, kind: str) -> Layer:
    if kind == "ReLU" and (layer.max_value is not None or layer.negative_slope or layer.threshold):
        raise ExportError(f"the layer {layer.name} is a ReLU that is cut off or sloped. {HOW}")
    if kind == "ReLU":
        return Activation(layer.name, "relu")
    if kind == "ELU":
        return Activation(layer.name, "elu", float(layer.alpha))
    return Activation(layer.name, "leaky_relu", float(layer.negative_slope))


def _trace_layers(model: Any, rows: Array) -> dict[str, Array]:
    """Returns the output of each layer, by the name of the exported layer. A Dense with an activation is one layer here."""
    traces: dict[str, Array] = {}
    value: Any = rows
    for layer in _in_a_row(model):
        value = layer(value, training=False) if type(layer).__name__ == "Dropout" else layer(value)
        exported = _read_layers(layer)
        if exported:
            traces[exported[-1].name] = np.asarray(keras.ops.convert_to_numpy(value))
    return traces


def _copy_array(variable: Any) -> Array:
    return np.array(keras.ops.convert_to_numpy(variable), np.float32)

"""Writes a network as an ONNX model. Each value is named after the layer that computes it, so a test of parity can name the first that
differs.
"""

import json
from typing import Any

import numpy as np

from muster.exporting.errors import ExportError
from muster.exporting.network import (
    Activation,
    Arrange,
    Array,
    Clip,
    Convolution,
    Divide,
    Flatten,
    Layer,
    LayerNorm,
    Linear,
    Network,
    Normalise,
    Pad,
    Part,
    Permute,
    Step,
)

# The operator set of ONNX Runtime 1.17 and later.
OPSET = 20
IR_VERSION = 9
INPUT = "observation"
OUTPUT = "output"
PREPROCESSED = f"{INPUT}.preprocessed"
OPERATORS = {"tanh": "Tanh", "relu": "Relu", "sigmoid": "Sigmoid", "selu": "Selu", "softplus": "Softplus", "gelu": "Gelu"}
WITH_ALPHA = {"elu": "Elu", "leaky_relu": "LeakyRelu"}


def build_onnx_model(network: Network) -> bytes:
    """Returns the bytes of the model. @raises ExportError when the library onnx is missing."""
    return _Graph(import_onnx()).build(network)


def import_onnx() -> Any:
    """Imports the library. @raises ExportError when it is missing."""
    try:
        import onnx
    except ImportError as error:
        raise ExportError(f"this policy is exported to ONNX, and the library onnx is missing ({error}): pip install onnx") from error
    return onnx


def name_preprocessed(part: Part) -> str:
    """Returns the name of the value that a part's first layer takes."""
    return f"{INPUT}.{part.name}.preprocessed" if part.name else PREPROCESSED


class _Graph:
    def __init__(self, onnx: Any) -> None:
        self._onnx = onnx
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def build(self, network: Network) -> bytes:
        onnx, proto = self._onnx, self._onnx.TensorProto
        element = proto.UINT8 if network.bytes else proto.DOUBLE if network.normalises else proto.FLOAT
        size = sum(part.size for part in network.parts)
        shape = network.parts[0].shape if network.bytes else (size,)
        value = self._add_layers(self._join_parts(network), network.layers)
        self._add_node("Identity", [value], OUTPUT)
        info = onnx.helper.make_tensor_value_info
        outputs = [info(OUTPUT, proto.FLOAT, ["batch", None])]
        if network.log_std is not None:
            self._add_node("Identity", [self._add_constant("log_std.value", network.log_std[np.newaxis])], "log_std")
            outputs.append(info("log_std", proto.FLOAT, [1, len(network.log_std)]))
        graph = onnx.helper.make_graph(self._nodes, "policy", [info(INPUT, element, ["batch", *shape])], outputs, self._constants)
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
        onnx.helper.set_model_props(model, {"muster": json.dumps({"action": network.action})})
        onnx.checker.check_model(model)
        written: bytes = model.SerializeToString()
        return written

    def _join_parts(self, network: Network) -> str:
        values, begin = [], 0
        for part in network.parts:
            value = INPUT
            if len(network.parts) > 1:
                begin, end = begin + part.size, begin
                places = (("begin", end), ("end", begin), ("axis", 1))
                bounds = [self._add_constant(f"{part.name}.{name}", np.array([at])) for name, at in places]
                value = self._add_node("Slice", [value, *bounds], f"{INPUT}.{part.name}")
            if not network.bytes and part.shape != (part.size,):
                value = self._reshape(value, part.shape, f"{value}.shaped")
            values.append(self._add_layers(self._preprocess(part, value), part.layers))
        return values[0] if len(values) == 1 else self._add_node("Concat", values, "joined", axis=1)

    def _preprocess(self, part: Part, value: str) -> str:
        for place, step in enumerate(part.steps):
            value = self._add_step(step, value, f"{INPUT}.{part.name}.{place}")
        return self._add_node("Cast", [value], name_preprocessed(part), to=self._onnx.TensorProto.FLOAT)

    def _add_step(self, step: Step, value: str, name: str) -> str:
        proto = self._onnx.TensorProto
        match step:
            case Normalise(mean, variance, clip, epsilon):
                value = self._add_node("Cast", [value], f"{name}.double", to=proto.DOUBLE)
                value = self._add_node("Sub", [value, self._add_constant(f"{name}.mean", mean.astype(np.float64))], f"{name}.centred")
                deviation = np.sqrt(variance.astype(np.float64) + epsilon)
                value = self._add_node("Div", [value, self._add_constant(f"{name}.deviation", deviation)], f"{name}.scaled")
                ends = [self._add_constant(f"{name}.{end}", np.array(at, np.float64)) for end, at in (("low", -clip), ("high", clip))]
                value = self._add_node("Clip", [value, *ends], f"{name}.clipped")
                return self._add_node("Cast", [value], f"{name}.normalised", to=proto.FLOAT)
            case Arrange(order, shape):
                permutation = [0, *(axis + 1 for axis in order)]
                value = self._add_node("Transpose", [value], f"{name}.transposed", perm=permutation)
                return self._reshape(value, shape, f"{name}.arranged")
            case Divide(by):
                value = self._add_node("Cast", [value], f"{name}.float", to=proto.FLOAT)
                return self._add_node("Div", [value, self._add_constant(f"{name}.by", np.array(by, np.float32))], f"{name}.divided")

    def _add_layers(self, value: str, layers: tuple[Layer, ...]) -> str:
        for layer in layers:
            value = self._add_layer(layer, value)
        return value

    def _add_layer(self, layer: Layer, value: str) -> str:
        name = layer.name
        match layer:
            case Linear(_, weight, bias):
                given = [value, self._add_constant(f"{name}.weight", weight), self._add_constant(f"{name}.bias", bias)]
                return self._add_node("Gemm", given, name, transB=1)
            case Convolution(_, weight, bias, stride, padding, dilation, groups):
                given = [value, self._add_constant(f"{name}.weight", weight), self._add_constant(f"{name}.bias", bias)]
                pads = [*padding, *padding]
                return self._add_node("Conv", given, name, strides=list(stride), pads=pads, dilations=list(dilation), group=groups)
            case Activation():
                return self._add_activation(layer, value)
            case Clip(_, low, high):
                ends = [self._add_constant(f"{name}.{end}", np.array(at, np.float32)) for end, at in (("low", low), ("high", high))]
                return self._add_node("Clip", [value, *ends], name)
            case LayerNorm(_, weight, bias, epsilon):
                given = [value, self._add_constant(f"{name}.weight", weight), self._add_constant(f"{name}.bias", bias)]
                return self._add_node("LayerNormalization", given, name, axis=-1, epsilon=epsilon)
            case Flatten():
                return self._add_node("Flatten", [value], name, axis=1)
            case Permute(_, order):
                return self._add_node("Transpose", [value], name, perm=[0, *(axis + 1 for axis in order)])
            case Pad(_, top, left, bottom, right):
                around = self._add_constant(f"{name}.pads", np.array([0, 0, top, left, 0, 0, bottom, right], np.int64))
                return self._add_node("Pad", [value, around], name)

    def _add_activation(self, layer: Activation, value: str) -> str:
        name = layer.name
        if layer.kind == "silu":
            return self._add_node("Mul", [value, self._add_node("Sigmoid", [value], f"{name}.sigmoid")], name)
        if layer.alpha is None:
            return self._add_node(OPERATORS[layer.kind], [value], name)
        return self._add_node(WITH_ALPHA[layer.kind], [value], name, alpha=layer.alpha)

    def _reshape(self, value: str, shape: tuple[int, ...], name: str) -> str:
        return self._add_node("Reshape", [value, self._add_constant(f"{name}.shape", np.array([-1, *shape], np.int64))], name)

    def _add_node(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self._nodes.append(self._onnx.helper.make_node(operator, inputs, [output], name=output, **attributes))
        return output

    def _add_constant(self, name: str, value: Array) -> str:
        self._constants.append(self._onnx.numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

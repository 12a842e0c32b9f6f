"""Reads the layers of a PyTorch module as data."""

from collections.abc import Callable
from functools import cache
from typing import Any

from muster.exporting.errors import ExportError
from muster.exporting.network import Activation, Array, Clip, Convolution, Flatten, Layer, LayerNorm, Linear, Pad, Permute

HOW = (
    "Export it yourself, as ONNX or TorchScript: a module that takes a batch of observations and gives the logits or the means "
    "(docs/checkpoints.md)"
)


class UnknownLayer(ExportError):
    """A module whose computation is unknown, so that it cannot be exported."""


def read_layers(module: Any, name: str) -> tuple[Layer, ...]:
    """Returns the layers that a module computes in evaluation mode, in order. Weights are copied, because the training may continue.

    @param name: the module's name in its policy, as in `named_modules`; layers are named after it. Raises UnknownLayer naming the module.
    """
    from torch import nn

    if isinstance(module, nn.Sequential):
        return tuple(
            layer for child, inner in module.named_children() for layer in read_layers(inner, f"{name}.{child}" if name else child)
        )
    if isinstance(module, (nn.Identity, nn.Dropout)):
        return ()
    read = _list_readers(nn).get(type(module))
    if read is None:
        raise UnknownLayer(f"{name or 'the policy'} is a {type(module).__module__}.{type(module).__qualname__}, which is not known. {HOW}")
    return (read(module, name),)


@cache
def permute_module() -> Any:
    """Returns the class of a module that permutes dimensions, without the batch: `permute_module()((2, 0, 1))`. PyTorch has none."""
    from torch import nn

    class PermuteModule(nn.Module):  # type: ignore[misc]
        def __init__(self, order: tuple[int, ...]) -> None:
            super().__init__()
            self.order = order

        def forward(self, values: Any) -> Any:
            return values.permute(0, *(axis + 1 for axis in self.order))

    return PermuteModule


def _list_readers(nn: Any) -> dict[type, Callable[[Any, str], Layer]]:
    return {
        nn.Linear: _read_linear,
        nn.Conv2d: _read_convolution,
        nn.Flatten: _flatten,
        nn.LayerNorm: _read_layer_norm,
        nn.ZeroPad2d: _pad,
        permute_module(): lambda module, name: Permute(name, module.order),
        nn.Tanh: lambda _, name: Activation(name, "tanh"),
        nn.ReLU: lambda _, name: Activation(name, "relu"),
        nn.Sigmoid: lambda _, name: Activation(name, "sigmoid"),
        nn.ELU: lambda module, name: Activation(name, "elu", float(module.alpha)),
        nn.LeakyReLU: lambda module, name: Activation(name, "leaky_relu", float(module.negative_slope)),
        nn.SELU: lambda _, name: Activation(name, "selu"),
        nn.Softplus: _softplus,
        nn.SiLU: lambda _, name: Activation(name, "silu"),
        nn.GELU: _gelu,
        nn.Hardtanh: lambda module, name: Clip(name, float(module.min_val), float(module.max_val)),
    }


def _copy_array(tensor: Any) -> Array:
    """Returns a copy in float32, the dtype of exported policies."""
    copied: Array = tensor.detach().cpu().float().numpy().copy()
    return copied


def _read_bias(module: Any, length: int) -> Array:
    import numpy as np

    return np.zeros(length, np.float32) if module.bias is None else _copy_array(module.bias)


def _read_linear(module: Any, name: str) -> Layer:
    return Linear(name, _copy_array(module.weight), _read_bias(module, module.out_features))


def _read_convolution(module: Any, name: str) -> Layer:
    if isinstance(module.padding, str) or module.padding_mode != "zeros":
        raise UnknownLayer(f"{name} pads by {module.padding!r} in mode {module.padding_mode!r}; expected numbers, and zeros. {HOW}")
    return Convolution(
        name,
        _copy_array(module.weight),
        _read_bias(module, module.out_channels),
        stride=(int(module.stride[0]), int(module.stride[1])),
        padding=(int(module.padding[0]), int(module.padding[1])),
        dilation=(int(module.dilation[0]), int(module.dilation[1])),
        groups=int(module.groups),
    )


def _flatten(module: Any, name: str) -> Layer:
    if (module.start_dim, module.end_dim) != (1, -1):
        raise UnknownLayer(f"{name} flattens dimensions {module.start_dim} to {module.end_dim}; expected 1 to -1. {HOW}")
    return Flatten(name)


def _pad(module: Any, name: str) -> Layer:
    left, right, top, bottom = module.padding
    return Pad(name, top=int(top), left=int(left), bottom=int(bottom), right=int(right))


def _read_layer_norm(module: Any, name: str) -> Layer:
    if len(module.normalized_shape) != 1 or module.weight is None:
        raise UnknownLayer(f"{name} normalises {tuple(module.normalized_shape)}; expected one dimension, with weights. {HOW}")
    return LayerNorm(name, _copy_array(module.weight), _read_bias(module, module.normalized_shape[0]), float(module.eps))


def _softplus(module: Any, name: str) -> Layer:
    if module.beta != 1:
        raise UnknownLayer(f"{name} is a Softplus with beta {module.beta}; expected 1. {HOW}")
    return Activation(name, "softplus")


def _gelu(module: Any, name: str) -> Layer:
    if module.approximate != "none":
        raise UnknownLayer(f"{name} is a GELU approximated by {module.approximate}; expected none. {HOW}")
    return Activation(name, "gelu")

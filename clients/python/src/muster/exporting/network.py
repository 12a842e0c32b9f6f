"""A policy's network as data: all computations from an observation to the policy's output."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
ActivationKind = Literal["tanh", "relu", "sigmoid", "elu", "leaky_relu", "selu", "softplus", "silu", "gelu"]


@dataclass(frozen=True, eq=False)
class Linear:
    """x ↦ weight · x + bias."""

    name: str
    weight: Array
    """[out, in]"""
    bias: Array
    """[out]"""


@dataclass(frozen=True, eq=False)
class Convolution:
    """A two-dimensional convolution over [channels, height, width]."""

    name: str
    weight: Array
    """[out channels, in channels / groups, height, width]"""
    bias: Array
    """[out channels]"""
    stride: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int]
    groups: int


@dataclass(frozen=True)
class Activation:
    name: str
    kind: ActivationKind
    alpha: float | None = None
    """For `elu` and `leaky_relu`."""


@dataclass(frozen=True)
class Clip:
    """Clips values at both ends."""

    name: str
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class LayerNorm:
    """Normalises over the last dimension."""

    name: str
    weight: Array
    bias: Array
    epsilon: float


@dataclass(frozen=True)
class Flatten:
    """[batch, …] ↦ [batch, n]."""

    name: str


@dataclass(frozen=True)
class Permute:
    """Permutes the dimensions, without the batch: images with their channels last become images with their channels first, and back."""

    name: str
    order: tuple[int, ...]


@dataclass(frozen=True)
class Pad:
    """Puts zeros around each channel of [channels, height, width]."""

    name: str
    top: int
    left: int
    bottom: int
    right: int


Layer = Linear | Convolution | Activation | Clip | LayerNorm | Flatten | Permute | Pad


@dataclass(frozen=True, eq=False)
class Normalise:
    """Computes (x − mean) / √(variance + epsilon), clipped to ±clip, in float64, and rounds to float32."""

    mean: Array
    """The shape of the observation's part, or its last dimensions."""
    variance: Array
    clip: float
    epsilon: float


@dataclass(frozen=True)
class Arrange:
    """Permutes the dimensions of an observation, without the batch, and then reshapes it."""

    order: tuple[int, ...]
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Divide:
    """Divides by a number: 255 for the bytes of images."""

    by: float


Step = Normalise | Arrange | Divide


@dataclass(frozen=True, eq=False)
class Part:
    """One entry of a dictionary of observations, or the observation itself."""

    name: str
    """Its key; empty for the observation itself."""
    shape: tuple[int, ...]
    """The environment's shape; (n,) for a part that is encoded one-hot."""
    steps: tuple[Step, ...]
    layers: tuple[Layer, ...]

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(np.prod(self.shape))


@dataclass(frozen=True, eq=False)
class Network:
    parts: tuple[Part, ...]
    """The parts in the order in which `gymnasium.spaces.flatten` concatenates them."""
    layers: tuple[Layer, ...]
    """The layers after the concatenation of the parts' results."""
    action: dict[str, str]
    """The meaning of the outputs, as in docs/checkpoints.md."""
    bytes: bool
    """Whether the observation is an image of uint8 that is passed on unchanged."""
    log_std: Array | None = None
    """[out]: log standard deviations of a normal distribution, for actions that are drawn."""

    @property
    def normalises(self) -> bool:
        return any(isinstance(step, Normalise) for part in self.parts for step in part.steps)

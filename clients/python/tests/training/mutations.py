"""Exports that are wrong in the ways that evaluations most often are. Parity has to catch each."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from muster.exporting.network import Activation, Arrange, Network, Normalise, Part


def without_statistics(network: Network) -> Network:
    return changed_part(network, lambda part: replace(part, steps=tuple(s for s in part.steps if not isinstance(s, Normalise))))


def untransposed(network: Network) -> Network:
    """The bytes in the shape of the policy's observations, but with rows and columns exchanged."""
    return changed_part(
        network, lambda part: replace(part, steps=tuple(Arrange((2, 1, 0), s.shape) if isinstance(s, Arrange) else s for s in part.steps))
    )


def turned(network: Network) -> Network:
    """Images that have their channels in front, with rows and columns exchanged in the end."""

    def turn(part: Part) -> Part:
        channels, height, width = next((s.shape for s in part.steps if isinstance(s, Arrange)), part.shape)
        return replace(part, steps=(*part.steps, Arrange((0, 2, 1), (channels, width, height))))

    return changed_part(network, turn)


def other_activation(network: Network) -> Network:
    def other(layer: Any) -> Any:
        return Activation(layer.name, "sigmoid") if isinstance(layer, Activation) else layer

    return replace(network, layers=tuple(map(other, network.layers)))


def changed_part(network: Network, change: Callable[[Part], Part]) -> Network:
    return replace(network, parts=tuple(map(change, network.parts)))

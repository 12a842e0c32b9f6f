"""Writes and reads a policy as an MLP in safetensors, which Muster's runner plays (format muster-mlp/1)."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from safetensors import safe_open
from safetensors.numpy import save

from examples.training.action import ActionDistribution, Categorical, Gaussian
from examples.training.mlp import Array, Mlp
from examples.training.normaliser import Normaliser

FORMAT = "muster-mlp/1"


@dataclass(frozen=True)
class Provenance:
    """The origin of a policy; `version` is the training step, counted in environment steps."""

    run: str
    version: int
    seed: int


def write_checkpoint(path: Path, network: Mlp, action: ActionDistribution, normaliser: Normaliser, provenance: Provenance) -> None:
    """Writes float32 tensors, with the architecture and the provenance in the file's metadata."""
    names = [f"l{index}" for index in range(len(network.weights))]
    tensors: dict[str, Array] = {"observation.mean": normaliser.mean, "observation.variance": normaliser.variance}
    for name, weight, bias in zip(names, network.weights, network.biases, strict=True):
        tensors |= {f"{name}.weight": weight, f"{name}.bias": bias}
    if action.parameters:
        tensors["action.log_std"] = action.parameters[0]
    architecture = {"format": FORMAT, "layers": names, "activation": "tanh", "action": action.description, "normalise": True}
    metadata = {
        "muster": json.dumps(architecture, separators=(",", ":")),
        "run": provenance.run,
        "version": str(provenance.version),
        "seed": str(provenance.seed),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_ordered(save({name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}, metadata)))


def _ordered(content: bytes) -> bytes:
    """Returns the same file with the keys of its header sorted.

    safetensors writes the metadata in a random order, and the digest of its bytes names a checkpoint: otherwise two equal policies would
    have two names.
    """
    size = int.from_bytes(content[:8], "little")
    header = json.dumps(json.loads(content[8 : 8 + size]), sort_keys=True, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)  # the format requires that tensors begin at a multiple of 8
    return len(header).to_bytes(8, "little") + header + content[8 + size :]


def read_metadata(path: Path) -> dict[str, str]:
    with safe_open(path, framework="numpy") as file:
        metadata: dict[str, str] = file.metadata()
    return metadata


def read_policy(path: Path, space: gymnasium.Space[Any]) -> Callable[[Array], Any]:
    """Returns the best action of a policy that `write_checkpoint` wrote, as a function of one observation."""
    architecture = json.loads(read_metadata(path)["muster"])
    with safe_open(path, framework="numpy") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (a file of safetensors is no mapping)
    layers = architecture["layers"]
    network = Mlp([tensors[f"{name}.weight"] for name in layers], [tensors[f"{name}.bias"] for name in layers])
    normaliser = Normaliser(tensors["observation.mean"], tensors["observation.variance"])
    if isinstance(space, gymnasium.spaces.Box):
        action: ActionDistribution = Gaussian(space, architecture["action"]["squash"], tensors["action.log_std"])
    elif isinstance(space, gymnasium.spaces.Discrete):
        action = Categorical(space)
    else:
        raise TypeError(f"expected a Discrete or a Box action space, not {space}")

    def policy(observation: Array) -> Any:
        outputs, _ = network.forward(normaliser.apply(observation[None].astype(np.float32)))
        return action.for_environment(action.best(outputs))[0]

    return policy

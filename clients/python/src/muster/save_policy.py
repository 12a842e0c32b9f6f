"""Save an MLP of PyTorch as a checkpoint that Muster plays. Import `save_policy`, or copy this file: it needs nothing else of Muster."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch

Numbers: TypeAlias = torch.Tensor | np.ndarray[Any, Any] | Sequence[float]
ACTIVATIONS = {torch.nn.Tanh: "tanh", torch.nn.ReLU: "relu"}


def save_policy(
    policy: torch.nn.Sequential,
    path: str | Path,
    action: dict[str, str],
    normalisation: tuple[Numbers, Numbers] | None = None,
    log_std: Numbers | None = None,
) -> None:
    """
    Writes the linear layers of `policy` with the metadata that says how they belong together.

    @param path: `*.safetensors`, which all sandboxes share, or `*.pth`, a state dict. The file appears under its name when it is whole.
    @param action: what the outputs mean: {"kind": "discrete"}, or {"kind": "continuous", "squash": "tanh" | "clip" | "none"}.
    @param normalisation: mean and variance of the observations, one number for each: tensors, arrays or lists.
    @param log_std: one number for each output; for stochastic continuous actions.
    @raises ValueError when the path has another ending, or the policy is not a Sequential of linear layers with one kind of activation,
        tanh or ReLU, between each two of them.
    """
    path = Path(path)
    if path.suffix not in (".safetensors", ".pth"):
        raise ValueError(f"expected a path that ends in .safetensors or .pth, got {path}")
    linear, activation = _read_layers(policy)
    tensors: dict[str, Numbers] = {f"l{i}.{name}": value for i, layer in enumerate(linear) for name, value in layer.named_parameters()}
    if normalisation is not None:
        tensors["observation.mean"], tensors["observation.variance"] = normalisation
    if log_std is not None:
        tensors["action.log_std"] = log_std
    kind = linear[0].weight.dtype
    saved = {name: torch.as_tensor(value, dtype=kind).detach().cpu().clone().contiguous() for name, value in tensors.items()}
    architecture: dict[str, Any] = {
        "format": "muster-mlp/1",
        "layers": [f"l{i}" for i in range(len(linear))],
        "activation": activation,
        "action": action,
        "normalise": normalisation is not None,
    }
    _write(path, saved, architecture)


def _read_layers(policy: torch.nn.Sequential) -> tuple[list[torch.nn.Linear], str]:
    """Returns the linear layers, and the activation between them. Raises ValueError for any other policy."""
    if not isinstance(policy, torch.nn.Sequential):
        raise ValueError(f"expected a torch.nn.Sequential of the policy's layers, got {type(policy).__name__}: make one of its layers")
    linear = [module for module in policy if isinstance(module, torch.nn.Linear)]
    between = [module for module in policy if not isinstance(module, torch.nn.Linear)]
    kinds = {ACTIVATIONS.get(type(module)) for module in between}
    alternate = all(isinstance(module, torch.nn.Linear) == (i % 2 == 0) for i, module in enumerate(policy))
    if not linear or not alternate or len(between) != len(linear) - 1 or None in kinds or len(kinds) > 1:
        raise ValueError(f"expected Linear, Tanh, Linear, … or Linear, ReLU, Linear, …: export others to ONNX; got {policy}")
    if any(layer.bias is None for layer in linear):
        raise ValueError("expected linear layers with a bias")
    return linear, next((ACTIVATIONS[type(module)] for module in between), "tanh")


def _write(path: Path, tensors: dict[str, torch.Tensor], architecture: dict[str, Any]) -> None:
    unfinished = path.with_name(f".{path.name}.unfinished")
    if path.suffix == ".safetensors":
        from safetensors.torch import save_file

        save_file(tensors, unfinished, metadata={"muster": json.dumps(architecture)})
    else:
        torch.save({"muster": architecture, "state_dict": tensors}, unfinished)
    unfinished.rename(path)


try:
    from muster_client.arguments import suggests_keywords
except ImportError:
    # A copy of this file does without.
    pass
else:
    save_policy = suggests_keywords(save_policy)

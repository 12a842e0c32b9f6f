"""Writes a network as one file that the runner plays: safetensors where that format can express it, else ONNX."""

import json
import os
from pathlib import Path

from muster.exporting.network import Activation, Array, Flatten, Linear, Network
from muster.exporting.onnx_graph import build_onnx_model, import_onnx

UNFINISHED = ".unfinished"
"""The suffix of files that are not complete yet."""
MLP_FORMAT = "muster-mlp/1"


def choose_suffix(network: Network) -> str:
    """Returns `.safetensors` for networks that the format muster-mlp/1 can describe, else `.onnx`."""
    return ".onnx" if _as_mlp(network) is None else ".safetensors"


def assert_writable(network: Network) -> None:
    """Checks that the library that writes the file is installed. @raises ExportError when it is missing."""
    if choose_suffix(network) == ".onnx":
        import_onnx()


def encode_portable_file(network: Network, suffix: str) -> bytes:
    """Returns the content of the file. @param suffix: `.onnx`, or `.safetensors` if `choose_suffix` returns that."""
    mlp = _as_mlp(network)
    return build_onnx_model(network) if mlp is None or suffix == ".onnx" else _encode_safetensors(network, *mlp)


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file that appears under its name when it is complete and on the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}{UNFINISHED}")
    try:
        with unfinished.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _as_mlp(network: Network) -> tuple[list[Linear], str] | None:
    """Returns the linear layers and the activation between them; None for any other network."""
    if len(network.parts) != 1 or network.parts[0].steps or network.normalises:
        return None
    layers = [layer for layer in (*network.parts[0].layers, *network.layers) if not isinstance(layer, Flatten)]
    linear = [layer for layer in layers[::2] if isinstance(layer, Linear)]
    between = [layer for layer in layers[1::2] if isinstance(layer, Activation) and layer.kind in ("tanh", "relu")]
    kinds = {layer.kind for layer in between}
    if not linear or len(linear) != len(between) + 1 or len(linear) + len(between) != len(layers) or len(kinds) > 1:
        return None
    return linear, next(iter(kinds), "tanh")


def _encode_safetensors(network: Network, linear: list[Linear], activation: str) -> bytes:
    from safetensors.numpy import save

    tensors: dict[str, Array] = {}
    for layer in linear:
        tensors |= {f"{layer.name}.weight": layer.weight, f"{layer.name}.bias": layer.bias}
    if network.log_std is not None:
        tensors["action.log_std"] = network.log_std
    architecture = {
        "format": MLP_FORMAT,
        "layers": [layer.name for layer in linear],
        "activation": activation,
        "action": network.action,
        "normalise": False,
    }
    return save(tensors, metadata={"muster": json.dumps(architecture)})

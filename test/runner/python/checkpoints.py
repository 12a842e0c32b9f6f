"""Checkpoints to play, as a training would write them."""

import hashlib
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import save

Tensors = dict[str, NDArray[Any]]

DISCRETE = {"kind": "discrete"}


def file_digest(path: Path) -> str:
    return f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"


def directory_digest(directory: Path) -> str:
    files = sorted((path.relative_to(directory).as_posix().encode(), path) for path in directory.rglob("*") if path.is_file())
    lines = b"".join(hashlib.sha256(path.read_bytes()).hexdigest().encode() + b"  " + name + b"\n" for name, path in files)
    return f"sha256:{hashlib.sha256(lines).hexdigest()}"


def random_layers(*sizes: int, dtype: Any = np.float32) -> Tensors:
    rng = np.random.default_rng(7)
    tensors: Tensors = {}
    for i, (inputs, outputs) in enumerate(pairwise(sizes)):
        tensors[f"l{i}.weight"] = rng.standard_normal((outputs, inputs)).astype(dtype)
        tensors[f"l{i}.bias"] = rng.standard_normal(outputs).astype(dtype)
    return tensors


def constant_layer(inputs: int, outputs: list[float]) -> Tensors:
    """A network that gives the same outputs for every observation."""
    return {"l0.weight": np.zeros((len(outputs), inputs), np.float32), "l0.bias": np.array(outputs, np.float32)}


def architecture(tensors: Tensors, action: dict[str, str] = DISCRETE, **changes: Any) -> dict[str, Any]:
    layers = [name.removesuffix(".weight") for name in tensors if name.endswith(".weight")]
    return {"format": "muster-mlp/1", "layers": layers, "activation": "tanh", "action": action, "normalise": False, **changes}


def write_mlp(path: Path, tensors: Tensors, action: dict[str, str] = DISCRETE, **changes: Any) -> tuple[Path, str]:
    """@returns the path and the digest."""
    path.write_bytes(save(tensors, {"muster": json.dumps(architecture(tensors, action, **changes))}))
    return path, file_digest(path)


def outputs_of(tensors: Tensors, observation: NDArray[Any], activation: Any = np.tanh) -> NDArray[Any]:
    """The same network, written the plain way."""
    layers = [name.removesuffix(".weight") for name in tensors if name.endswith(".weight")]
    x = observation
    for layer in layers[:-1]:
        x = activation(tensors[f"{layer}.weight"] @ x + tensors[f"{layer}.bias"])
    outputs: NDArray[Any] = tensors[f"{layers[-1]}.weight"] @ x + tensors[f"{layers[-1]}.bias"]
    return outputs


def write_onnx(
    path: Path,
    weight: NDArray[Any],
    bias: NDArray[Any],
    log_std: list[float] | None = None,
    muster: dict[str, Any] | None = None,
    batch: int | str = 1,
) -> tuple[Path, str]:
    """One linear layer: `weight` is [out, in]. @returns the path and the digest."""
    kind = TensorProto.FLOAT if weight.dtype == np.float32 else TensorProto.DOUBLE
    constants = {"weight": weight.T, "bias": bias}
    nodes = [helper.make_node("Gemm", ["observation", "weight", "bias"], ["output"])]
    outputs = [helper.make_tensor_value_info("output", kind, [batch, len(bias)])]
    if log_std is not None:
        constants["scale"] = np.array([log_std], weight.dtype)
        nodes.append(helper.make_node("Identity", ["scale"], ["log_std"]))
        outputs.append(helper.make_tensor_value_info("log_std", kind, [1, len(bias)]))
    graph = helper.make_graph(
        nodes,
        "policy",
        [helper.make_tensor_value_info("observation", kind, [batch, weight.shape[1]])],
        outputs,
        [numpy_helper.from_array(np.ascontiguousarray(value), name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    if muster is not None:
        helper.set_model_props(model, {"muster": json.dumps(muster)})
    onnx.save(model, path)
    return path, file_digest(path)


def write_directory(path: Path, files: dict[str, str | bytes]) -> tuple[Path, str]:
    """@returns the path and the digest."""
    for name, content in files.items():
        target = path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
    return path, directory_digest(path)


def write_carried(path: Path, code: str, **kwargs: Any) -> tuple[Path, str]:
    """A directory with a policy's code, which makes the policy by `make`. @returns the path and the digest."""
    description = json.dumps({"policy": {"entry": "policy_code:make", "kwargs": kwargs}})
    return write_directory(path, {"muster.json": description, "policy_code.py": code})

"""An ONNX model, computed by ONNX Runtime."""

from pathlib import Path
from typing import Any

import numpy as np

from muster_runner.json_fields import Object, parse_object
from muster_runner.policies.checkpoint import Checkpoint
from muster_runner.policies.exported_network import ExportedNetwork, described
from muster_runner.policies.policy import Array
from muster_runner.refusal import PolicyRefusal

DTYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(uint8)": np.uint8}


def read_onnx(path: Path) -> Checkpoint:
    """@raises PolicyRefusal"""
    try:
        import onnxruntime
    except ImportError as error:
        raise PolicyRefusal(f"{path.name} needs onnxruntime in the sandbox (pip install onnxruntime): {error}") from error
    try:
        session = onnxruntime.InferenceSession(str(path), _options(onnxruntime), providers=["CPUExecutionProvider"])
    except Exception as error:
        # ONNX Runtime's errors have no common class of their own.
        raise PolicyRefusal(f"{path.name} is no intact ONNX model: {error}") from error
    inputs = session.get_inputs()
    if len(inputs) != 1:
        raise PolicyRefusal(f"{path.name} has {len(inputs)} inputs, expected one: the observation")
    if inputs[0].type not in DTYPES:
        raise PolicyRefusal(f"{path.name} takes {inputs[0].type}, expected tensor(float), tensor(double) or tensor(uint8)")
    name, outputs, run = inputs[0].name, _outputs(session), session.run

    def run_model(observation: Array) -> list[Array]:
        arrays: list[Array] = run(outputs, {name: observation})
        return arrays

    metadata = session.get_modelmeta().custom_metadata_map
    return ExportedNetwork(
        run=run_model,
        dtype=DTYPES[inputs[0].type],
        description=described(lambda: _muster(metadata), path.name),
        input_shape=_after_batch(inputs[0].shape, path),
        takes_one=inputs[0].shape[0] == 1,
    )


def _options(onnxruntime: Any) -> Any:
    options = onnxruntime.SessionOptions()
    # A sandbox has a share of one processor: more threads would only wait for each other.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # Errors only: they reach the caller as exceptions too.
    options.log_severity_level = 3
    return options


def _outputs(session: Any) -> list[str]:
    """The first output, and the one named `log_std` where there is one."""
    names: list[str] = [output.name for output in session.get_outputs()]
    return names[:1] + [name for name in names[1:] if name == "log_std"]


def _muster(metadata: dict[str, str]) -> Object | None:
    return parse_object(metadata["muster"], 'the metadata "muster"') if "muster" in metadata else None


def _after_batch(shape: list[Any], path: Path) -> tuple[int | None, ...]:
    """Dimensions that are symbols come as strings, unknown ones as None."""
    sizes = tuple(size if isinstance(size, int) else None for size in shape)
    if len(sizes) < 2 or sizes[0] not in (None, 1):
        raise PolicyRefusal(f"{path.name} takes an input of shape {shape}, expected [1, n] or [batch, n]")
    return sizes[1:]

"""Loads an ONNX model, which ONNX Runtime computes."""

from pathlib import Path
from typing import Any

import numpy as np

from muster_runner.json_fields import FieldError, Object, parse_object
from muster_runner.policies.checkpoint import Checkpoint
from muster_runner.policies.exported_network import ExportedNetwork, read_description
from muster_runner.policies.exported_rows import Run
from muster_runner.policies.onnx_state import StatePart, find_state_parts, make_recurrence, parse_state
from muster_runner.policies.onnx_weights import map_weights
from muster_runner.policies.policy import Array
from muster_runner.policies.recurrence import Recurrence
from muster_runner.refusal import PolicyRefusal

DTYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(uint8)": np.uint8}


def read_onnx(path: Path) -> Checkpoint:
    """Reads a model. @raises PolicyRefusal"""
    try:
        import onnxruntime
    except ImportError as error:
        raise PolicyRefusal(f"{path.name} needs onnxruntime in the sandbox (pip install onnxruntime): {error}") from error
    try:
        session = _open_session(onnxruntime, path)
    except Exception as error:
        # ONNX Runtime's errors share no base class of their own.
        raise PolicyRefusal(_describe_broken(path, str(error))) from error
    try:
        muster = _read_description(session.get_modelmeta().custom_metadata_map)
        parts = find_state_parts(session, parse_state(muster))
    except FieldError as error:
        raise PolicyRefusal(f"{path.name}: {error}") from error
    observation = _find_observation(session, parts, path)
    return ExportedNetwork(
        model=_make_model(session, observation.name, parts),
        dtype=DTYPES[observation.type],
        description=read_description(lambda: muster and {name: value for name, value in muster.items() if name != "state"}, path.name),
        input_shape=_drop_batch(observation.shape, path),
        takes_one=observation.shape[0] == 1 or any(part.axis is None for part in parts),
    )


def _describe_broken(path: Path, error: str) -> str:
    if "external" not in error.lower() or not path.is_file():
        return f"{path.name} is not an intact ONNX model: {error}"
    return (
        f"{path.name} has weights in another file, which did not come with it. Evaluate a directory that holds both, keep them in "
        f'"{path.name}.data" beside it, or save all in one file: onnx.save(onnx.load("{path.name}"), "{path.name}"). '
        f"ONNX Runtime says: {error}"
    )


def _open_session(onnxruntime: Any, path: Path) -> Any:
    options = _build_options(onnxruntime)
    model: bytes | str | None = map_weights(path)
    if model is None:
        model = str(path)
    else:
        # ONNX Runtime looks for external weights in this directory.
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(path.parent))
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _find_observation(session: Any, parts: tuple[StatePart, ...], path: Path) -> Any:
    """Returns the input that is not part of the state."""
    states = [part.input for part in parts]
    inputs = [one for one in session.get_inputs() if one.name not in states]
    if len(inputs) != 1:
        names = ", ".join(one.name for one in inputs)
        raise PolicyRefusal(
            f"{path.name} has {len(inputs)} inputs beside its state ({names}), expected one: the observation. What it remembers from step "
            'to step are inputs named …_in with outputs named …_out, or those that the metadata "muster" names under "state"'
        )
    if inputs[0].type not in DTYPES:
        raise PolicyRefusal(f"{path.name} takes {inputs[0].type}, expected tensor(float), tensor(double) or tensor(uint8)")
    return inputs[0]


def _make_model(session: Any, observation: str, parts: tuple[StatePart, ...]) -> Run | Recurrence:
    outputs, run = _list_outputs(session, parts), session.run
    if parts:
        return make_recurrence(run, observation, outputs, parts)

    def run_model(x: Array) -> list[Array]:
        arrays: list[Array] = run(outputs, {observation: x})
        return arrays

    return run_model


def _build_options(onnxruntime: Any) -> Any:
    options = onnxruntime.SessionOptions()
    # A sandbox has a share of one processor, so more threads would only wait for each other.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # The memory pattern takes 160 pages of a forked sandbox's own memory, and makes later runs no faster.
    options.enable_mem_pattern = False
    # Only errors are logged, which also reach the caller as exceptions.
    options.log_severity_level = 3
    return options


def _list_outputs(session: Any, parts: tuple[StatePart, ...]) -> list[str]:
    """Returns the names of the first output that is not part of the state and, if there is one, of the output `log_std`."""
    states = [part.output for part in parts]
    names: list[str] = [output.name for output in session.get_outputs() if output.name not in states]
    return names[:1] + [name for name in names[1:] if name == "log_std"]


def _read_description(metadata: dict[str, str]) -> Object | None:
    return parse_object(metadata["muster"], 'the metadata "muster"') if "muster" in metadata else None


def _drop_batch(shape: list[Any], path: Path) -> tuple[int | None, ...]:
    """Returns the dimensions after the batch. ONNX Runtime gives symbolic dimensions as strings, unknown ones as None."""
    sizes = tuple(size if isinstance(size, int) else None for size in shape)
    if len(sizes) < 2 or sizes[0] not in (None, 1):
        raise PolicyRefusal(f"{path.name} takes an input of shape {shape}, expected [1, n] or [batch, n]")
    return sizes[1:]

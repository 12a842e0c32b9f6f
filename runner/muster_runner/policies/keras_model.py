"""Loads a Keras model from a `.keras` file. Keras is imported only for such a file, because the import takes seconds."""

import importlib.util
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from muster_runner.failure import describe, describe_installation
from muster_runner.json_fields import FieldError, Object, parse_object
from muster_runner.policies.checkpoint import Checkpoint
from muster_runner.policies.exported_network import ExportedNetwork, read_description
from muster_runner.policies.policy import Array
from muster_runner.refusal import PolicyRefusal

METADATA_FILE = "muster.json"
MOST_METADATA_BYTES = 1 << 20
DTYPES = {"float32": np.float32, "float64": np.float64}
# The backend of Keras for each library that may be installed. Beside JAX it is NumPy, which runs in this thread alone: Keras's NumPy
# backend uses parts of JAX.
BACKENDS = {"tensorflow": "tensorflow", "torch": "torch", "jax": "numpy"}


def read_keras(path: Path) -> Checkpoint:
    """Reads a model. @raises PolicyRefusal"""
    # The archive is checked before Keras, which may be missing. Otherwise a broken file would be refused a second time after Keras is
    # installed.
    description = read_description(lambda: _read_description(path), path.name)
    keras = _import_keras(path)
    try:
        # In safe mode Keras reads no Python function from the file.
        model = keras.saving.load_model(str(path), compile=False, safe_mode=True)
    except Exception as error:
        raise PolicyRefusal(f"{path.name} cannot be loaded as a Keras model of data alone: {describe(error)}") from error
    inputs = model.inputs
    if len(inputs) != 1:
        raise PolicyRefusal(f"{path.name} has {len(inputs)} inputs, expected one: the observation")
    if inputs[0].dtype not in DTYPES:
        raise PolicyRefusal(f"{path.name} takes {inputs[0].dtype}, expected float32 or float64")
    shape = tuple(inputs[0].shape)
    if len(shape) < 2:
        raise PolicyRefusal(f"{path.name} takes an input of shape {shape}, expected [batch, n]")
    return ExportedNetwork(
        model=_make_run(keras, model),
        dtype=DTYPES[inputs[0].dtype],
        description=description,
        input_shape=shape[1:],
        takes_one=shape[0] == 1,
    )


def _import_keras(path: Path) -> Any:
    installed = [backend for library, backend in BACKENDS.items() if importlib.util.find_spec(library) is not None]
    if installed:
        os.environ.setdefault("KERAS_BACKEND", installed[0])
    try:
        import keras
    except Exception as error:
        # A backend may fail with any exception, not only with ImportError.
        raise PolicyRefusal(
            f"{path.name} is a Keras model, and the Python of this sandbox has no Keras that works ({describe(error)}): "
            f"{describe_installation('keras', 'tensorflow')} (torch or jax do as well as tensorflow), or export the policy to ONNX"
        ) from error
    _use_one_thread(keras.backend.backend())
    return keras


def _use_one_thread(backend: str) -> None:
    """Limits the backend to one thread: a sandbox has a share of one processor, so more would only wait for each other."""
    if backend == "torch":
        import torch

        torch.set_num_threads(1)
    elif backend == "tensorflow":
        import tensorflow

        tensorflow.config.threading.set_intra_op_parallelism_threads(1)
        tensorflow.config.threading.set_inter_op_parallelism_threads(1)


def _read_description(path: Path) -> Object | None:
    """Reads the metadata. @raises FieldError"""
    try:
        with zipfile.ZipFile(path) as archive:
            if METADATA_FILE not in archive.namelist():
                return None
            with archive.open(METADATA_FILE) as file:
                text = file.read(MOST_METADATA_BYTES + 1)
    except (OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise FieldError(f"it is not an intact archive: {error}") from error
    if len(text) > MOST_METADATA_BYTES:
        raise FieldError(f"{METADATA_FILE} has more than {MOST_METADATA_BYTES} bytes")
    return parse_object(text, METADATA_FILE)


def _make_run(keras: Any, model: Any) -> Any:
    to_numpy = keras.ops.convert_to_numpy

    def run(observation: Array) -> list[Array]:
        result = model(observation, training=False)
        parts = result if isinstance(result, tuple | list) else (result,)
        return [np.asarray(to_numpy(part)) for part in parts]

    return run

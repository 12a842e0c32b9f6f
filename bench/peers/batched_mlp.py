"""Computes a checkpoint's MLP for a batch of observations."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import safe_open

Array = np.ndarray[Any, np.dtype[Any]]


def greedy_policy(checkpoint: Path) -> Callable[[Array], Array]:
    """Returns the function from observations [n, observation] to best actions [n]. docs/checkpoints.md describes the format."""
    with safe_open(checkpoint, framework="numpy") as file:
        architecture = json.loads(file.metadata()["muster"])
        layers = [(file.get_tensor(f"{name}.weight").T.copy(), file.get_tensor(f"{name}.bias")) for name in architecture["layers"]]
        dtype = layers[0][0].dtype
        size = layers[0][0].shape[0]
        mean, deviation = np.zeros(size, dtype), np.ones(size, dtype)
        if architecture["normalise"]:
            mean = file.get_tensor("observation.mean").astype(dtype)
            deviation = np.sqrt(file.get_tensor("observation.variance").astype(dtype) + dtype.type(1e-8))
    activate = np.tanh if architecture["activation"] == "tanh" else lambda x: np.maximum(x, 0)
    *hidden, (last_weight, last_bias) = layers

    def act(observations: Array) -> Array:
        x = np.clip((observations - mean) / deviation, -10, 10)
        for weight, bias in hidden:
            x = activate(x @ weight + bias)
        actions: Array = (x @ last_weight + last_bias).argmax(axis=1)
        return actions

    return act

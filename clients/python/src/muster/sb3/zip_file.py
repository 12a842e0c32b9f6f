"""Loads the zip of Stable-Baselines3's `model.save`."""

from pathlib import Path
from typing import Any

from muster.exporting.errors import ExportError
from muster.exporting.runner_policies import runner_module


def load(path: str | Path, *, algorithm: str | None = None) -> Any:
    """Loads the model in a zip, on the CPU and without an environment: to be played, not to be trained further.

    What is pickled in it is run: load only what you trust.

    @param algorithm: PPO, A2C, DQN, SAC, TD3 or DDPG; the zip tells when it is left out.
    Raises ExportError when it is no such zip, was written by a version that this one cannot read, or is of an unknown algorithm.
    """
    try:
        return runner_module("policies.sb3_zip").load_model(Path(path), algorithm)
    except runner_module("refusal").PolicyRefusal as error:
        raise ExportError(str(error)) from error

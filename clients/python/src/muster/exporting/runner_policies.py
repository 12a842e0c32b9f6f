"""Uses the runner's own readers of checkpoints, so that the policy that is compared with the trainer's is the one that will be played."""

import importlib
import sys
from pathlib import Path
from typing import Any

from muster.exporting.errors import ExportError

PACKAGE = "muster_runner"


def load_runner_policy(path: Path, observation_space: Any, action_space: Any) -> Any:
    """Returns the policy that sandboxes load from a checkpoint. Its `act(observation)` returns the best action.

    Raises ExportError when the checkpoint does not fit the spaces, naming both.
    """
    reader, checkpoint, refusal = (runner_module(name) for name in ("policies.read_checkpoint", "policies.checkpoint", "refusal"))
    try:
        fit = checkpoint.Fit(observation_space, action_space, True)
        return reader.read_checkpoint(path).fit(fit)
    except refusal.PolicyRefusal as error:
        raise ExportError(f"the exported policy does not fit: {error}") from error


def runner_module(name: str) -> Any:
    """Imports a module of the runner. Raises ExportError when it, or a package that it needs, is missing."""
    try:
        return importlib.import_module(f"{PACKAGE}.{name}")
    except ModuleNotFoundError as error:
        if error.name != PACKAGE:
            raise ExportError(f"the exported policy cannot be tested, because {error.name} is missing: pip install {error.name}") from error
    sys.path.append(str(_find_directory()))
    return importlib.import_module(f"{PACKAGE}.{name}")


def _find_directory() -> Path:
    """Returns the runner's directory: beside the server in an installed package, at the top of a clone."""
    here = Path(__file__).resolve()
    for parent in here.parents:
        for place in ("runner", "program/runner"):
            if (parent / place / PACKAGE / "policies").is_dir():
                return parent / place
    raise ExportError("the runner, which tests exported policies, is missing: install muster-eval, or work in a clone of Muster")

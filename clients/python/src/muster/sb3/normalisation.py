"""Finds the statistics of VecNormalize that a model was trained with, or reports that they are missing."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np

from muster.exporting.errors import ExportError, MissingNormalisation
from muster.exporting.network import Normalise
from muster.exporting.runner_policies import runner_module
from muster.sb3.observations import Statistics

NONE = "none"
"""In place of statistics: the policy is evaluated without them."""


def find_normaliser(model: Any, given: Any, saved_at: Path | None = None) -> Any | None:
    """Finds the VecNormalize that the model's observations go through; None when there is none.

    @param given: the path of what `VecNormalize.save` wrote, which is unpickled; a VecNormalize; "none"; or None: that of the model's
        environment.
    @param saved_at: the model's zip, beside which statistics may lie.
    Raises MissingNormalisation when the model was trained with statistics that are not there, and ExportError for what is none.
    """
    if isinstance(given, str) and given == NONE:
        return None
    if given is not None:
        return _load_normaliser(given)
    if (found := model.get_vec_normalize_env()) is not None:
        return found
    if (sign := _find_sign_of_normalisation(model, saved_at)) is not None:
        raise MissingNormalisation(
            f"the model was trained under VecNormalize ({sign}), and its statistics were not given: without them the policy sees other "
            'observations than it was trained on. Give vec_normalize="vecnormalize.pkl", the file that VecNormalize.save wrote, '
            'or say vec_normalize="none" to evaluate it without them'
        )
    return None


def read_statistics(normaliser: Any | None) -> Statistics:
    """Copies the statistics, because the training may continue."""
    if normaliser is None or not normaliser.norm_obs:
        return {}
    found = normaliser.obs_rms if isinstance(normaliser.obs_rms, dict) else {"": normaliser.obs_rms}
    clip, epsilon = float(normaliser.clip_obs), float(normaliser.epsilon)
    return {name: Normalise(np.array(one.mean), np.array(one.var), clip, epsilon) for name, one in found.items()}


def _load_normaliser(given: Any) -> Any:
    from stable_baselines3.common.vec_env import VecNormalize

    if isinstance(given, VecNormalize):
        return given
    path = Path(given)
    try:
        with path.open("rb") as file:
            loaded = pickle.load(file)
    except Exception as error:
        # Unpickling may raise any exception.
        raise ExportError(f"vec_normalize: {path} cannot be read ({error}); expected what VecNormalize.save wrote, or 'none'") from error
    if not isinstance(loaded, VecNormalize):
        raise ExportError(f"vec_normalize: {path} holds a {type(loaded).__name__}; expected what VecNormalize.save wrote, or 'none'")
    return loaded


def _find_sign_of_normalisation(model: Any, saved_at: Path | None) -> str | None:
    """Returns a sign that a model was trained on normalised observations; None without one."""
    sign: str | None = runner_module("policies.sb3_zip").find_sign_of_normalisation(model)
    if sign is not None:
        return sign
    beside = sorted(saved_at.parent.glob("*vec*normalize*.pkl")) if saved_at is not None else []
    return f"{beside[0].name} lies beside it" if beside else None

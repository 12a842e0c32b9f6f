"""The statistics of VecNormalize that a model was trained with: found, or missed by name."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np

from muster.exporting.errors import ExportError, MissingNormalisation
from muster.exporting.network import Normalise
from muster.sb3.observations import Statistics

NONE = "none"
"""Given in place of statistics: the policy is to be evaluated without them."""


def normaliser_of(model: Any, given: Any, saved_at: Path | None = None) -> Any | None:
    """The VecNormalize that the model's observations go through; None when there is none.

    @param given: the path of what `VecNormalize.save` wrote, which is unpickled; a VecNormalize; "none"; or None: that of the model's
        environment.
    @param saved_at: the model's zip, beside which statistics may lie.
    Raises MissingNormalisation when the model was trained with statistics that are not there, and ExportError for what is none.
    """
    if isinstance(given, str) and given == NONE:
        return None
    if given is not None:
        return _normaliser(given)
    if (found := model.get_vec_normalize_env()) is not None:
        return found
    if (sign := _sign_of_normalisation(model, saved_at)) is not None:
        raise MissingNormalisation(
            f"the model was trained under VecNormalize ({sign}), and its statistics were not given: without them the policy sees other "
            'observations than it was trained on. Give vec_normalize="vecnormalize.pkl", the file that VecNormalize.save wrote, '
            'or say vec_normalize="none" to evaluate it without them'
        )
    return None


def statistics_of(normaliser: Any | None) -> Statistics:
    """Copied: the training may go on."""
    if normaliser is None or not normaliser.norm_obs:
        return {}
    found = normaliser.obs_rms if isinstance(normaliser.obs_rms, dict) else {"": normaliser.obs_rms}
    clip, epsilon = float(normaliser.clip_obs), float(normaliser.epsilon)
    return {name: Normalise(np.array(one.mean), np.array(one.var), clip, epsilon) for name, one in found.items()}


def _normaliser(given: Any) -> Any:
    from stable_baselines3.common.vec_env import VecNormalize

    if isinstance(given, VecNormalize):
        return given
    path = Path(given)
    try:
        with path.open("rb") as file:
            loaded = pickle.load(file)
    except Exception as error:
        # A pickle fails in as many ways as there are classes in it.
        raise ExportError(f"vec_normalize: {path} cannot be read ({error}); expected what VecNormalize.save wrote") from error
    if not isinstance(loaded, VecNormalize):
        raise ExportError(f"vec_normalize: {path} holds a {type(loaded).__name__}; expected what VecNormalize.save wrote")
    return loaded


def _sign_of_normalisation(model: Any, saved_at: Path | None) -> str | None:
    """What tells that a model was trained on normalised observations; None where nothing does."""
    from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm

    original, last = model._last_original_obs, model._last_obs
    if isinstance(model, OnPolicyAlgorithm) and original is not None:
        return "it has kept an observation from before normalisation"
    if original is not None and not _is_inside(last, model.observation_space):
        return "its last observation lies outside of its observation space"
    beside = sorted(saved_at.parent.glob("*vec*normalize*.pkl")) if saved_at is not None else []
    return f"{beside[0].name} lies beside it" if beside else None


def _is_inside(batch: Any, space: Any) -> bool:
    """A batch of observations, within the bounds of a space."""
    from gymnasium import spaces

    if isinstance(space, spaces.Dict):
        return all(_is_inside(batch[name], inner) for name, inner in space.spaces.items())
    if batch is None or not isinstance(space, spaces.Box) or np.asarray(batch).shape[1:] != space.shape:
        return True
    margin = 1e-3 * (1 + np.abs(np.asarray(batch)))
    return bool(((batch >= space.low - margin) & (batch <= space.high + margin)).all())

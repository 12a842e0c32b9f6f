"""Plays a model of Stable-Baselines3 with the library's own `predict`, so its actions equal the trainer's to the last bit."""

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from muster_runner.failure import describe
from muster_runner.policies.carried_policy import CheckedPolicy
from muster_runner.policies.carried_rows import CheckedRows
from muster_runner.policies.checkpoint import Checkpoint, Fit
from muster_runner.policies.policy import Policy
from muster_runner.policies.rows_policy import Rows, RowsPolicy
from muster_runner.policies.sb3_zip import find_sign_of_normalisation, load_model
from muster_runner.refusal import PolicyRefusal

STATISTICS = "*vec*normalize*.pkl"
HOW = 'put the file that VecNormalize.save wrote beside the zip, in one directory, or export the policy with vec_normalize="none"'


def read_sb3(path: Path) -> Checkpoint:
    """Reads a model. @raises PolicyRefusal, also for a model that was trained under VecNormalize if the statistics are not in the
    checkpoint.
    """
    model = load_model(path)
    beside = sorted(path.parent.glob(STATISTICS))
    if len(beside) > 1:
        raise PolicyRefusal(f"beside {path.name} lie {', '.join(found.name for found in beside)}, expected one file of statistics")
    if beside:
        return Sb3Model(path.name, model, _make_normaliser(beside[0]))
    if (sign := find_sign_of_normalisation(model)) is not None:
        raise PolicyRefusal(f"{path.name} was trained under VecNormalize ({sign}), and its statistics are missing: {HOW}")
    return Sb3Model(path.name, model, None)


@dataclass(frozen=True, eq=False)
class Sb3Model:
    name: str
    model: Any
    normaliser: Any | None
    """A VecNormalize without an environment."""

    def fit(self, fit: Fit, /) -> Policy:
        return CheckedPolicy(self._make_player(fit), fit.action_space)

    def fit_rows(self, fit: Fit, _rows: int, /) -> RowsPolicy:
        return CheckedRows(self._make_player(fit), fit.observation_space, fit.action_space)

    def _make_player(self, fit: Fit) -> "_Player":
        model = self.model
        if not _takes(fit.observation_space, model.observation_space):
            raise self._describe_misfit("observation", fit.observation_space, model.observation_space)
        if fit.action_space != model.action_space:
            raise self._describe_misfit("action", fit.action_space, model.action_space)
        normaliser = self.normaliser
        if normaliser is not None and normaliser.norm_obs and not _takes(fit.observation_space, normaliser.observation_space):
            raise self._describe_misfit("normalised observation", fit.observation_space, normaliser.observation_space)
        return _Player(model.policy, normaliser, fit.deterministic)

    def _describe_misfit(self, what: str, given: Any, taken: Any) -> PolicyRefusal:
        return PolicyRefusal(
            f"{self.name}: the {what} of the environment is {given}, the policy takes {taken}: evaluate it in the environment that it was "
            "trained in, with the same wrappers (for VecFrameStack export it with muster.sb3.export: docs/training.md)"
        )


class _Player:
    """Plays one model. It draws from torch's generator, which is seeded for each episode or block."""

    def __init__(self, policy: Any, normaliser: Any | None, deterministic: bool) -> None:
        self._policy = policy
        self._normalised = (lambda given: given) if normaliser is None else normaliser.normalize_obs
        self._deterministic = deterministic

    def act(self, observation: Any) -> Any:
        # The observation goes in as a batch of one, as in the library: if all dimensions of its shape are open, it would count as a batch.
        return self.act_rows(np.zeros(1, np.int64), _make_batch(observation))[0]

    def act_rows(self, _rows: Rows, observations: Any) -> Any:
        actions, _ = self._policy.predict(self._normalised(observations), deterministic=self._deterministic)
        return actions


def _make_batch(observation: Any) -> Any:
    if isinstance(observation, dict):
        return {name: np.asarray(part)[np.newaxis] for name, part in observation.items()}
    return np.asarray(observation)[np.newaxis]


def _takes(given: Any, taken: Any) -> bool:
    """Returns whether a policy for one space takes observations of another. Bounds may differ, as those of VecNormalize do."""
    if isinstance(given, spaces.Dict) and isinstance(taken, spaces.Dict):
        return given.keys() == taken.keys() and all(_takes(given[name], taken[name]) for name in given)
    if not (isinstance(given, spaces.Box) and isinstance(taken, spaces.Box)):
        return bool(given == taken)
    # The library itself moves the channels of an image to the front.
    return taken.shape == given.shape or (len(given.shape) == 3 and taken.shape == (given.shape[2], *given.shape[:2]))


def _make_normaliser(path: Path) -> Any:
    from stable_baselines3.common.vec_env import VecNormalize

    try:
        with path.open("rb") as file:
            loaded = pickle.load(file)
    except Exception as error:
        # Unpickling may fail with any exception.
        raise PolicyRefusal(f"{path.name} cannot be read ({describe(error)}); expected what VecNormalize.save wrote") from error
    if not isinstance(loaded, VecNormalize):
        raise PolicyRefusal(f"{path.name} holds a {type(loaded).__name__}; expected what VecNormalize.save wrote")
    loaded.training = False
    return loaded

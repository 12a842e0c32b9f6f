"""Collects observations of a running training before their normalisation."""

from collections import deque
from typing import Any

import numpy as np
from gymnasium.vector.utils import batch_space
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper, VecFrameStack, VecNormalize

from muster.exporting.parity import OBSERVATIONS
from muster.sb3.observations import ObservationPath


def get_environment_space(vectors: VecEnv) -> Any:
    """Returns the space that the suite's environment must have: the innermost one's, stacked if the training stacks."""
    space: Any = vectors.unwrapped.observation_space
    for wrapper in _list_wrappers(vectors):
        if isinstance(wrapper, VecFrameStack):
            space = batch_space(space, wrapper.stacked_obs.n_stack)
    return space


class SeenObservations:
    """The latest 1,000 observations, before their normalisation, from the steps at which it is called."""

    def __init__(self, vectors: VecEnv) -> None:
        self.steps = -(-OBSERVATIONS // vectors.num_envs)
        """The number of steps of all environments together in which this many observations are collected."""
        self._normalise = next((wrapper for wrapper in _list_wrappers(vectors) if isinstance(wrapper, VecNormalize)), None)
        self._batches: deque[Any] = deque(maxlen=self.steps)

    def look(self, observations: Any) -> None:
        """Keeps a step's observations. @param observations: the policy's next input. Under VecNormalize, the observations before it are
        kept instead.
        """
        self._batches.append(observations if self._normalise is None else self._normalise.get_original_obs())

    def get_batch(self, path: ObservationPath) -> Any | None:
        """Returns the observations as the environment gives them, [n, …]; None before the first."""
        if not self._batches:
            return None
        if isinstance(self._batches[0], dict):
            joined: Any = {name: np.concatenate([batch[name] for batch in self._batches])[:OBSERVATIONS] for name in self._batches[0]}
        else:
            joined = np.concatenate(self._batches)[:OBSERVATIONS]
        return path.restore(joined)


def _list_wrappers(vectors: Any) -> list[Any]:
    """Lists the wrappers, the outermost first."""
    found = []
    while isinstance(vectors, VecEnvWrapper):
        found.append(vectors)
        vectors = vectors.venv
    return found

"""Recommenders that do not learn."""

import numpy as np
from numpy.typing import NDArray

from examples.recommendations.environment.catalogue import CATEGORIES


def favourite(observation: NDArray[np.float32]) -> int:
    """Shows the category that past sessions liked best."""
    return int(np.argmax(observation[:CATEGORIES]))


def tuned_rotation(observation: NDArray[np.float32]) -> int:
    """Shows the best category by the profile plus recent watching minus recent showing. A grid search chose the two weights (see
    README.md).
    """
    return rotation(observation, watched_weight=8.0, shown_weight=8.0)


def rotation(observation: NDArray[np.float32], watched_weight: float, shown_weight: float) -> int:
    profile, watched, shown = np.split(observation[: 3 * CATEGORIES], 3)
    return int(np.argmax(profile + watched_weight * watched - shown_weight * shown))

"""Detects NaN in observations. A network accepts them silently, and its actions are then meaningless."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

NAN_REMARK = "the environment gave observations that hold NaN, and a policy's actions mean little then; look for a division by 0 in it"


def has_nan(observation: Any) -> bool:
    """Returns whether a number in the observation is NaN. An observation without numbers has none."""
    if isinstance(observation, np.ndarray | np.generic):
        return observation.dtype.kind in "fc" and bool(np.isnan(observation).any())
    if isinstance(observation, float):
        return math.isnan(observation)
    if isinstance(observation, Mapping):
        return any(has_nan(part) for part in observation.values())
    return isinstance(observation, tuple | list) and any(has_nan(part) for part in observation)

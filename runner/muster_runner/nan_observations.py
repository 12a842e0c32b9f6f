"""Observations that hold NaN: a network takes them without a word, and its actions mean nothing then."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

NAN_REMARK = "the environment gave observations that hold NaN, and a policy's actions mean little then; look for a division by 0 in it"


def has_nan(observation: Any) -> bool:
    """Whether a number in it is NaN. What holds no numbers has none."""
    if isinstance(observation, np.ndarray | np.generic):
        return observation.dtype.kind in "fc" and bool(np.isnan(observation).any())
    if isinstance(observation, float):
        return math.isnan(observation)
    if isinstance(observation, Mapping):
        return any(has_nan(part) for part in observation.values())
    return isinstance(observation, tuple | list) and any(has_nan(part) for part in observation)

"""Checks whether an action fits the action space, so that a wrong action counts as the policy's fault."""

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray


def fit_action(action: Any, space: spaces.Space[Any]) -> Any:
    """Returns the action with the space's own type. As in Gymnasium, the environment checks the bounds of a Box.

    @raises ValueError when its shape or type is wrong.
    """
    if isinstance(space, spaces.Discrete):
        # Networks return arrays that contain a single number.
        number = action.item() if hasattr(action, "item") and np.size(action) == 1 else action
        if isinstance(number, int) and space.start <= number < space.start + space.n:
            return int(number)
    elif isinstance(space, spaces.Box):
        array = np.asarray(action)
        if array.shape == space.shape and np.can_cast(array.dtype, space.dtype, "same_kind"):
            return array.astype(space.dtype)
    elif space.contains(action):
        return action
    raise ValueError(f"the action {str(action)[:200]} ({type(action).__name__}, shape {np.shape(action)}) does not fit {space}")


def fit_actions(actions: Any, space: spaces.Space[Any], count: int) -> tuple[Any, NDArray[np.bool_]]:
    """Returns the actions of many rows as one array [count, …] with the space's own type, and which of them fit.

    It takes Discrete, Box, MultiDiscrete and MultiBinary spaces.

    @raises ValueError when the shape or the type is wrong, because the actions of the rows cannot be separated then.
    """
    array = np.asarray(actions)
    shape = (count, *(space.shape or ()))
    whole = not isinstance(space, spaces.Box)
    is_typed = array.dtype.kind in "iu" if whole else np.can_cast(array.dtype, space.dtype or float, "same_kind")
    if array.shape != shape or not is_typed:
        raise ValueError(f"the actions have the shape {array.shape} and the type {array.dtype}, expected {shape} for {count} times {space}")
    typed = array.astype(space.dtype)
    if not whole:
        return typed, np.ones(count, bool)
    low, high = _get_range(space)
    # The range is checked before the cast, because a number that is too large would wrap around.
    return typed, ((array >= low) & (array < high)).reshape(count, -1).all(axis=1)


def _get_range(space: spaces.Space[Any]) -> tuple[Any, Any]:
    if isinstance(space, spaces.Discrete):
        return space.start, space.start + space.n
    if isinstance(space, spaces.MultiDiscrete):
        return space.start, space.start + space.nvec
    return 0, 2

"""A policy whose code travels with the checkpoint."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from muster_runner.carried_code import CodeError, find
from muster_runner.failure import describe
from muster_runner.frames import EntryPoint
from muster_runner.policies.checkpoint import Fit
from muster_runner.policies.policy import Policy
from muster_runner.random_state import seed_global_generators, seed_torch
from muster_runner.refusal import PolicyRefusal

# What a factory draws while it makes the policy is the same in every sandbox.
CONSTRUCTION_SEED = 0


@dataclass(frozen=True)
class CarriedPolicy:
    point: EntryPoint
    directory: Path

    def fit(self, fit: Fit) -> Policy:
        """@raises PolicyRefusal when the factory is missing, raises, or returns something that cannot act."""
        seed_global_generators(CONSTRUCTION_SEED)
        try:
            made = find(self.point.entry, self.directory)(
                observation_space=fit.observation_space,
                action_space=fit.action_space,
                checkpoint_dir=self.directory,
                deterministic=fit.deterministic,
                **self.point.kwargs,
            )
        except CodeError as error:
            raise PolicyRefusal(f"the policy's factory: {error}") from error
        except BaseException as error:
            raise PolicyRefusal(f"the policy's factory {self.point.entry} failed: {describe(error)}") from error
        if not callable(getattr(made, "act", None)):
            raise PolicyRefusal(f"{self.point.entry} returns a {type(made).__name__} without a method act(observation)")
        return CheckedPolicy(made, fit.action_space)


class CheckedPolicy:
    """Lets only actions through that fit the action space, so that a wrong one is blamed on the policy."""

    def __init__(self, inner: Any, space: spaces.Space[Any]) -> None:
        self._act = inner.act
        self._reset = getattr(inner, "reset", None)
        self._space = space

    def reset(self, seed: int, /) -> None:
        seed_torch(seed)
        if self._reset is not None:
            self._reset(seed)

    def act(self, observation: Any, /) -> Any:
        return fitting(self._act(observation), self._space)


def fitting(action: Any, space: spaces.Space[Any]) -> Any:
    """The action in the space's own type. Bounds of a Box are the environment's business, as Gymnasium has it.

    @raises ValueError when the shape or the type is another one.
    """
    if isinstance(space, spaces.Discrete):
        # Networks hand out arrays with a single number in them.
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

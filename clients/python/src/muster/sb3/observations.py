"""The conversions of an observation between the environment and a Stable-Baselines3 policy."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from muster.exporting.errors import ExportError
from muster.exporting.network import Arrange, Array, Divide, Normalise, Part, Step

Statistics = Mapping[str, Normalise]
"""Statistics by the key of a dictionary of observations; under the empty name for any other observation."""


@dataclass(frozen=True, eq=False)
class ObservationPath:
    environment_space: Any
    """The space of the played environment."""
    policy_space: Any
    """The space of the policy."""
    statistics: Statistics
    """The statistics of VecNormalize, for the parts that it normalises."""
    divides_images: bool
    """Whether the policy divides the bytes of images by 255."""

    def __post_init__(self) -> None:
        if set(self._name_parts(self.environment_space)) != set(self._name_parts(self.policy_space)):
            raise _create_misfit_error("observation", self.environment_space, self.policy_space)

    def parts(self) -> dict[str, Part]:
        """Returns the parts in the environment's order, without layers. Raises ExportError for spaces that do not fit, naming both."""
        policy = self._name_parts(self.policy_space)
        return {name: self._read_part(name, space, policy[name]) for name, space in self._name_parts(self.environment_space).items()}

    @property
    def is_image(self) -> bool:
        """Whether the observation is one image of bytes, and nothing is normalised."""
        space = self.environment_space
        return space.dtype == np.uint8 and len(space.shape or ()) >= 3 and not self.statistics

    def arrange(self, observations: Any) -> Any:
        """Converts a batch from the environment's form to that of the policy's space, without normalising it."""
        return self._map_parts(observations, _arrange)

    def restore(self, observations: Any) -> Any:
        """Converts a batch from the form of the policy's space to the environment's."""
        return self._map_parts(observations, _restore)

    def _map_parts(self, observations: Any, change: Any) -> Any:
        policy = self._name_parts(self.policy_space)
        if not isinstance(observations, dict):
            return change(np.asarray(observations), self.environment_space, self.policy_space)
        spaces = self._name_parts(self.environment_space)
        return {name: change(np.asarray(batch), spaces[name], policy[name]) for name, batch in observations.items()}

    def _read_part(self, name: str, given: Any, taken: Any) -> Part:
        from gymnasium import spaces

        if type(given) is not type(taken):
            raise _create_misfit_error(f"observation {name!r}" if name else "observation", given, taken)
        if not isinstance(given, spaces.Box):
            if spaces.flatdim(given) != spaces.flatdim(taken):
                raise _create_misfit_error(f"observation {name!r}" if name else "observation", given, taken)
            return Part(name, (spaces.flatdim(given),), (), ())
        steps: list[Step] = []
        order = find_arrangement(given.shape, taken.shape)
        if order is None:
            raise _create_misfit_error(f"observation {name!r}" if name else "observation", given, taken)
        if given.shape != taken.shape:
            steps.append(Arrange(order, taken.shape))
        if (normalise := self.statistics.get(name)) is not None:
            if normalise.mean.shape != taken.shape:
                what = f"the statistics of VecNormalize are of shape {normalise.mean.shape}, the policy's observations of {taken.shape}"
                raise ExportError(f"{what}: put VecNormalize outside of the wrappers that stack or transpose observations")
            steps.append(normalise)
        if self.divides_images and _is_image(taken):
            steps.append(Divide(255.0))
        return Part(name, given.shape, tuple(steps), ())

    def _name_parts(self, space: Any) -> dict[str, Any]:
        from gymnasium import spaces

        return dict(space.spaces) if isinstance(space, spaces.Dict) else {"": space}


def find_arrangement(given: tuple[int, ...], taken: tuple[int, ...]) -> tuple[int, ...] | None:
    """Finds the order of an observation's dimensions before they are given the policy's shape; None where the two do not fit.

    Images come with their channels last, or stacked [frames, height, width, channels] as gymnasium.wrappers.FrameStackObservation
    has them; policies take [channels, height, width], the channels of the oldest frame first.
    """
    if given == taken or (len(taken) == 1 and int(np.prod(given)) == taken[0]):
        return tuple(range(len(given)))
    if len(given) == 3 and taken == (given[2], given[0], given[1]):
        return (2, 0, 1)
    if len(given) == 4 and taken == (given[0] * given[3], given[1], given[2]):
        return (0, 3, 1, 2)
    return None


def _arrange(batch: Array, given: Any, taken: Any) -> Array:
    if given.shape == taken.shape or given.shape is None:
        return batch
    order = find_arrangement(given.shape, taken.shape)
    if order is None:
        raise _create_misfit_error("observation", given, taken)
    return batch.transpose(0, *(axis + 1 for axis in order)).reshape(len(batch), *taken.shape)


def _restore(batch: Array, given: Any, taken: Any) -> Array:
    if given.shape is None or batch.shape[1:] == given.shape:
        return batch
    if len(given.shape) == 3 and len(taken.shape) == 3:
        return np.moveaxis(batch, 1, -1)
    if len(given.shape) == 4 and len(taken.shape) == 3:
        frames, height, width, channels = given.shape
        return np.moveaxis(batch.reshape(len(batch), frames, channels, height, width), 2, -1)
    return batch.reshape(len(batch), *given.shape)


def _is_image(space: Any) -> bool:
    from stable_baselines3.common.preprocessing import is_image_space

    return bool(is_image_space(space))


def _create_misfit_error(what: str, given: Any, taken: Any) -> ExportError:
    return ExportError(
        f"the {what} of the environment is {given}, the policy takes {taken}: evaluate it in the environment that it was trained in, "
        "with the same wrappers"
    )

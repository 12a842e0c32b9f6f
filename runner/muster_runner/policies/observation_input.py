"""Turns an observation into the numbers that go into a network."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from muster_runner.failure import EnvironmentFault
from muster_runner.json_fields import FieldError, Object, as_numbers, only, required
from muster_runner.policies.policy import Array
from muster_runner.refusal import PolicyRefusal

CLIP = 10.0
EPSILON = 1e-8
# The largest size of a row, in numbers, for which NumPy broadcasts slowly.
SHORT_ROW = 256


@dataclass(frozen=True)
class Normalisation:
    """Statistics of the training's observations, [size] each."""

    mean: Array
    variance: Array


def parse_normalisation(value: Object, where: str) -> Normalisation:
    """Parses the statistics. @raises FieldError"""
    only(value, ("mean", "variance"), where)
    mean = np.array(as_numbers(required(value, "mean", where), f"{where}.mean"))
    variance = np.array(as_numbers(required(value, "variance", where), f"{where}.variance"))
    if mean.shape != variance.shape:
        raise FieldError(f"{where} has {len(mean)} means and {len(variance)} variances, expected as many of each")
    return Normalisation(mean, variance)


def count_inputs(space: spaces.Space[Any]) -> int:
    """Returns the number of elements of a flattened observation. As in Gymnasium, discrete parts are one-hot.

    @raises PolicyRefusal when observations have no fixed size.
    """
    try:
        return spaces.flatdim(space)
    except (NotImplementedError, ValueError) as error:
        raise PolicyRefusal(f"observations of {space} have no fixed size: they need a checkpoint with code of its own") from error


def make_observation_input(space: spaces.Space[Any], dtype: Any, normalisation: Normalisation | None) -> Callable[[Any], Array]:
    """Makes the function from an observation to an array [size], which the next call overwrites.

    Normalised elements are (observation − mean) / √(variance + 10⁻⁸), clipped to ±10.

    @raises PolicyRefusal when the statistics do not have the size of the observations.
    """
    size = count_inputs(space)
    flatten = _make_flatten(space, np.empty(size, dtype))
    if normalisation is None:
        return flatten
    normalise = make_normaliser(normalisation, size, dtype)
    return lambda observation: normalise(flatten(observation))


def write_box(slot: Array, observation: Any) -> None:
    """Copies an observation into its part of the input.

    @param slot: an array of the shape that the environment declares. @raises EnvironmentFault when the observation has another shape, which
    NumPy alone would broadcast.
    """
    given = np.asarray(observation)
    if given.shape != slot.shape and given.size != slot.size:
        raise EnvironmentFault(_describe_misfit(slot, given))
    try:
        slot[...] = given
    except ValueError as error:
        raise EnvironmentFault(_describe_misfit(slot, given)) from error


def _describe_misfit(slot: Array, given: Array) -> str:
    return f"the environment gave an observation of shape {given.shape}, and its observation_space declares {slot.shape}"


def _make_flatten(space: spaces.Space[Any], buffer: Array) -> Callable[[Any], Array]:
    if isinstance(space, spaces.Box):
        shaped = buffer.reshape(space.shape)

        def box(observation: Any) -> Array:
            write_box(shaped, observation)
            return buffer

        return box

    def other(observation: Any) -> Array:
        buffer[:] = np.asarray(spaces.flatten(space, observation))
        return buffer

    return other


def make_normaliser(normalisation: Normalisation, size: int, dtype: Any, rows: int | None = None) -> Callable[[Array], Array]:
    """Makes a function that normalises in place: an array [size] or, if `rows` is given, [n, size] with at most that many rows.

    @raises PolicyRefusal when the statistics do not have the size of the observations.
    """
    if len(normalisation.mean) != size:
        raise PolicyRefusal(f"the policy normalises {len(normalisation.mean)} numbers, the environment gives {size}")
    if not (normalisation.variance >= 0).all():
        raise PolicyRefusal("observation.variance has a number that is negative or not a number")
    mean = normalisation.mean.astype(dtype)
    deviation = np.sqrt(normalisation.variance.astype(dtype) + np.asarray(EPSILON, dtype))
    if rows is not None:
        return _make_rows_normaliser(for_each_row(mean, rows), for_each_row(deviation, rows), dtype)
    minimum, maximum = np.minimum, np.maximum
    low, high = np.full_like(mean, -CLIP), np.full_like(mean, CLIP)

    def normalise(flat: Array) -> Array:
        flat -= mean
        flat /= deviation
        # On a few numbers, two ufuncs with arrays of bounds take half of the time of numpy.clip.
        minimum(flat, high, out=flat)
        maximum(flat, low, out=flat)
        return flat

    return normalise


def _make_rows_normaliser(mean: Array, deviation: Array, dtype: Any) -> Callable[[Array], Array]:
    minimum, maximum = np.minimum, np.maximum
    low, high = np.asarray(-CLIP, dtype), np.asarray(CLIP, dtype)

    def normalise(flat: Array) -> Array:
        count = len(flat)
        flat -= mean[:count]
        flat /= deviation[:count]
        minimum(flat, high, out=flat)
        maximum(flat, low, out=flat)
        return flat

    return normalise


def for_each_row(numbers: Array, rows: int) -> Array:
    """Expands [size] to [rows, size]. Short rows are copied, because NumPy is slowest when it broadcasts many short rows."""
    return np.tile(numbers, (rows, 1)) if len(numbers) <= SHORT_ROW else np.broadcast_to(numbers, (rows, len(numbers)))

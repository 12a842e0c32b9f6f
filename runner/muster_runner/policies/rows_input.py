"""Turns observations of many rows into the numbers that go into a network. Each row gets the numbers that observation_input.py gives it."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import batch_space, iterate

from muster_runner.policies.observation_input import Normalisation, count_inputs, make_normaliser, write_box
from muster_runner.policies.policy import Array


class RowsInput:
    """Writes into one buffer [rows, size], and returns its first rows. The next call overwrites them."""

    def __init__(self, space: spaces.Space[Any], dtype: Any, normalisation: Normalisation | None, rows: int) -> None:
        """Allocates the buffer. @raises PolicyRefusal when observations have no fixed size, or the statistics have another one."""
        size = count_inputs(space)
        self._space = space
        self._buffer = np.empty((rows, size), dtype)
        self._parts = _list_parts(space)
        shape = space.shape if isinstance(space, spaces.Box) else (size,)
        self._slots = [flat.reshape(shape) for flat in self._buffer]
        self._normalise = None if normalisation is None else make_normaliser(normalisation, size, dtype, rows)

    def rows(self, observations: Sequence[Any]) -> Array:
        """Turns one observation for each row into [n, size]. They may come as one array."""
        if isinstance(observations, np.ndarray) and isinstance(self._space, spaces.Box):
            for slot, observation in zip(self._slots, observations[:1], strict=False):
                write_box(slot, observation)
            self._buffer[: len(observations)] = observations.reshape(len(observations), -1)
        elif isinstance(self._space, spaces.Box):
            for slot, observation in zip(self._slots, observations, strict=False):
                write_box(slot, observation)
        else:
            for slot, observation in zip(self._slots, observations, strict=False):
                slot[...] = spaces.flatten(self._space, observation)
        return self._finish(len(observations))

    def batch(self, observations: Any, count: int) -> Array:
        """Turns the observations of a vector environment into [count, size]."""
        if self._parts is None:
            return self.rows(list(iterate(batch_space(self._space, count), observations)))
        begin = 0
        for take, width, write in self._parts:
            write(self._buffer[:count, begin : begin + width], take(observations))
            begin += width
        return self._finish(count)

    def _finish(self, count: int) -> Array:
        flat = self._buffer[:count]
        return flat if self._normalise is None else self._normalise(flat)


# The function that picks a part from a batch of observations, its flat size, and the function that writes it.
Part = tuple[Callable[[Any], Any], int, Callable[[Array, Any], None]]


def _list_parts(space: spaces.Space[Any]) -> list[Part] | None:
    """Lists the parts of a space in the order in which Gymnasium flattens them; None when one is of an unusual kind."""
    if isinstance(space, (spaces.Dict, spaces.Tuple)):
        named = space.spaces.items() if isinstance(space, spaces.Dict) else enumerate(space.spaces)
        parts: list[Part] = []
        for name, inner in named:
            inner_parts = _list_parts(inner)
            if inner_parts is None:
                return None
            parts.extend((_pick_inside(name, take), width, write) for take, width, write in inner_parts)
        return parts
    if isinstance(space, (spaces.Box, spaces.MultiBinary)):
        return [(_pass, spaces.flatdim(space), _write_numbers)]
    if isinstance(space, spaces.Discrete):
        return [(_pass, int(space.n), _make_choices_writer(np.zeros(1, np.int64), np.array([space.start])))]
    if isinstance(space, spaces.MultiDiscrete):
        choices = space.nvec.reshape(-1)
        offsets = np.concatenate(([0], np.cumsum(choices)[:-1]))
        return [(_pass, int(choices.sum()), _make_choices_writer(offsets, space.start.reshape(-1)))]
    return None


def _pass(observations: Any) -> Any:
    return observations


def _pick_inside(name: Any, take: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda observations: take(observations[name])


def _write_numbers(flat: Array, values: Any) -> None:
    flat[...] = np.asarray(values).reshape(len(flat), -1)


def _make_choices_writer(offsets: Array, starts: Array) -> Callable[[Array, Any], None]:
    """Makes a writer that encodes choices one-hot, one after the other."""

    def write(flat: Array, values: Any) -> None:
        flat[...] = 0
        chosen = np.asarray(values).reshape(len(flat), -1) - starts + offsets
        np.put_along_axis(flat, chosen, 1, axis=1)

    return write

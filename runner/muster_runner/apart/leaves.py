"""Splits spaces into their numeric parts, and their values into bytes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from muster_runner.apart.space_data import Space


@dataclass(frozen=True)
class Leaf:
    """A part of a space that is one number or one array of numbers."""

    space: Space
    dtype: Any
    shape: tuple[int, ...]
    # Whether its values are single whole numbers.
    is_choice: bool
    # The range of its values, from `low` to below `high`, for spaces with a fixed number of values.
    low: Any
    high: Any

    @property
    def bytes(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64)) * int(self.dtype.itemsize)


def list_leaves(space: Space) -> list[Leaf]:
    """Lists the numeric parts of a space, in the order of `split_parts`."""
    if isinstance(space, spaces.Tuple):
        return [leaf for part in space.spaces for leaf in list_leaves(part)]
    if isinstance(space, spaces.Dict):
        return [leaf for part in space.spaces.values() for leaf in list_leaves(part)]
    if isinstance(space, spaces.Discrete):
        return [Leaf(space, np.dtype(np.int64), (), True, int(space.start), int(space.start + space.n))]
    low: Any = None
    high: Any = None
    if isinstance(space, spaces.MultiDiscrete):
        low, high = space.start, space.start + space.nvec
    elif isinstance(space, spaces.MultiBinary):
        low, high = 0, 2
    return [Leaf(space, np.dtype(space.dtype), tuple(space.shape or ()), False, low, high)]


def find_only_leaf(space: Space, leaves: Sequence[Leaf]) -> Leaf | None:
    """Returns the leaf that is the space itself, if there is one. A Tuple or Dict with one part has none."""
    return leaves[0] if len(leaves) == 1 and leaves[0].space is space else None


def split_parts(space: Space, value: Any) -> Iterator[Any]:
    """Yields the parts of a value, or of a batch, leaf by leaf. @raises whatever reading the value raises."""
    if isinstance(space, spaces.Tuple):
        if len(value) != len(space.spaces):
            raise ValueError(f"a tuple of {len(value)} parts, expected {len(space.spaces)}")
        for part, inner in zip(space.spaces, value, strict=True):
            yield from split_parts(part, inner)
    elif isinstance(space, spaces.Dict):
        if len(value) != len(space.spaces):
            raise ValueError(f"a dictionary of {len(value)} parts, expected {', '.join(space.spaces)}")
        for name, part in space.spaces.items():
            yield from split_parts(part, value[name])
    else:
        yield value


def assemble(space: Space, parts: Iterator[Any]) -> Any:
    """Builds the value, or the batch, with these parts."""
    if isinstance(space, spaces.Tuple):
        return tuple(assemble(part, parts) for part in space.spaces)
    if isinstance(space, spaces.Dict):
        return {name: assemble(part, parts) for name, part in space.spaces.items()}
    return next(parts)


def copy_rows(rows: Any, leaf: Leaf) -> list[Any]:
    """Returns an array with its own memory for each row, also for rows that are single numbers."""
    return [np.array(number) for number in rows] if leaf.shape == () else list(rows.copy())


def sum_bytes(leaves: Sequence[Leaf]) -> int:
    return sum(leaf.bytes for leaf in leaves)

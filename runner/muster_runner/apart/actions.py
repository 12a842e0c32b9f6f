"""Actions as bytes. Each action of a space has the same number of bytes. The reader checks every value, because the sender is untrusted."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from muster_runner.apart.leaves import Leaf, assemble, copy_rows, find_only_leaf, list_leaves, split_parts, sum_bytes
from muster_runner.apart.space_data import Space


class Actions:
    """Reads and writes the actions of one space."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.leaves = list_leaves(space)
        self.bytes = sum_bytes(self.leaves)
        self.only = find_only_leaf(space, self.leaves)

    def write(self, action: Any) -> bytes:
        """Encodes an action. @raises ValueError when it does not fit the space."""
        pairs = zip(self.leaves, split_parts(self.space, action), strict=True)
        return b"".join(_write(leaf, part) for leaf, part in pairs)

    def write_rows(self, actions: Sequence[Any]) -> bytes:
        """Encodes an action for each row. @param actions: None for a row that failed. @raises ValueError"""
        leaf = self.only
        if leaf is not None and not any(action is None for action in actions):
            return _write_all(leaf, actions)
        return b"".join(bytes(self.bytes) if action is None else self.write(action) for action in actions)

    def write_batch(self, batch: Any, count: int) -> bytes:
        """Encodes the actions of all rows from the arrays that a vector environment takes. @raises ValueError"""
        arrays = [np.asarray(part) for part in split_parts(self.space, batch)]
        for leaf, array in zip(self.leaves, arrays, strict=True):
            if array.shape != (count, *leaf.shape):
                raise ValueError(f"the actions have the shape {array.shape}, expected {(count, *leaf.shape)}")
        return b"".join(array.astype(leaf.dtype).tobytes() for leaf, array in zip(self.leaves, arrays, strict=True))

    def read(self, data: memoryview) -> Any:
        """Decodes an action. @param data: exactly the bytes of one action. @raises ValueError when they are no action of the space."""
        parts = []
        for leaf in self.leaves:
            numbers = np.frombuffer(data[: leaf.bytes], leaf.dtype).reshape(leaf.shape)
            if not _fit(leaf, numbers, 1)[0]:
                raise self._create_misfit(numbers)
            parts.append(int(numbers) if leaf.is_choice else numbers.copy())
            data = data[leaf.bytes :]
        return assemble(self.space, iter(parts))

    def read_rows(self, data: memoryview, count: int) -> tuple[list[Any], dict[int, BaseException]]:
        """Returns an action for each row, and the errors of rows without one, by position."""
        leaf = self.only
        if leaf is None:
            return self._read_each(data, count)
        numbers = np.frombuffer(data, leaf.dtype).reshape(count, *leaf.shape)
        fits = _fit(leaf, numbers, count)
        actions: list[Any] = numbers.tolist() if leaf.is_choice else copy_rows(numbers, leaf)
        if fits.all():
            return actions, {}
        return actions, {place: self._create_misfit(actions[place]) for place in (~fits).nonzero()[0].tolist()}

    def read_batch(self, data: memoryview, count: int) -> Any:
        """Decodes the actions of all rows into the arrays that a vector environment takes. @raises ValueError when one is no action of the
        space.
        """
        parts = []
        for leaf in self.leaves:
            length = count * leaf.bytes
            numbers = np.frombuffer(data[:length], leaf.dtype).reshape(count, *leaf.shape)
            fits = _fit(leaf, numbers, count)
            if not fits.all():
                raise self._create_misfit(numbers[~fits][0])
            parts.append(numbers.copy())
            data = data[length:]
        return assemble(self.space, iter(parts))

    def _read_each(self, data: memoryview, count: int) -> tuple[list[Any], dict[int, BaseException]]:
        actions: list[Any] = [None] * count
        errors: dict[int, BaseException] = {}
        for place in range(count):
            try:
                actions[place] = self.read(data[place * self.bytes : (place + 1) * self.bytes])
            except ValueError as error:
                errors[place] = error
        return actions, errors

    def _create_misfit(self, action: Any) -> ValueError:
        return ValueError(f"the action {str(action)[:200]} does not fit {self.space}")


def _write(leaf: Leaf, part: Any) -> bytes:
    array = np.asarray(part)
    if array.shape != leaf.shape:
        raise ValueError(f"an action has the shape {array.shape}, expected {leaf.shape}")
    return array.astype(leaf.dtype).tobytes()


def _write_all(leaf: Leaf, actions: Sequence[Any]) -> bytes:
    array = np.asarray(actions)
    if array.shape != (len(actions), *leaf.shape):
        raise ValueError(f"the actions have the shape {array.shape}, expected {(len(actions), *leaf.shape)}")
    return array.astype(leaf.dtype).tobytes()


def _fit(leaf: Leaf, numbers: Any, count: int) -> Any:
    """Returns which rows fit. As in Gymnasium, the environment checks the bounds of a Box; that its numbers are finite is checked here."""
    if leaf.low is not None:
        fits = (numbers >= leaf.low) & (numbers < leaf.high)
    elif numbers.dtype.kind == "f":
        fits = np.isfinite(numbers)
    elif numbers.dtype.kind == "b":
        # Only the bytes 0 and 1 are flags.
        fits = numbers.view(np.uint8) <= 1
    else:
        return np.ones(count, bool)
    return np.asarray(fits).reshape(count, -1).all(axis=1)

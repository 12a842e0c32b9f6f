"""Observations as bytes.

Most observations have the type that their space names: an array of its dtype, an int for a Discrete space. Then only their bytes are sent.
Environments may return other types, such as a float64 array or a NumPy integer, which a policy in their own process would see. Then each
part is sent with a tag that names its type, so that a policy in another program sees the same type.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from muster_runner.apart.leaves import Leaf, assemble, copy_rows, find_only_leaf, list_leaves, split_parts, sum_bytes
from muster_runner.apart.space_data import Space
from muster_runner.failure import EnvironmentFault

_DTYPES = [np.dtype(name) for name in ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8")]
_CODES = {dtype: code for code, dtype in enumerate(_DTYPES)}
_AS_SPACE_HAS_IT, _INT, _FLOAT, _BOOL = 0, 1, 2, 3
# The tag of a part is one of these plus the code of its dtype.
_SCALAR, _ARRAY = 16, 64


class Observations:
    """Reads and writes the observations of one space. Results are in memory that the caller may keep."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.leaves = list_leaves(space)
        self.bytes = sum_bytes(self.leaves)
        self.only = find_only_leaf(space, self.leaves)

    def write(self, observation: Any) -> tuple[bool, bytes]:
        """Encodes an observation. @returns whether it has the types of its space, and the bytes. @raises EnvironmentFault when it does not
        fit the space.
        """
        try:
            parts = list(split_parts(self.space, observation))
        except Exception as error:
            raise self._create_fault(observation) from error
        pairs = list(zip(self.leaves, parts, strict=True))
        if all(_is_natural(leaf, part) for leaf, part in pairs):
            return True, b"".join(_write_natural(leaf, part) for leaf, part in pairs)
        try:
            return False, b"".join(_write_tagged(leaf, part) for leaf, part in pairs)
        except (ValueError, TypeError, OverflowError) as error:
            raise self._create_fault(observation) from error

    def read(self, data: memoryview, is_natural: bool) -> Any:
        parts, rest = self._read(data, is_natural)
        if len(rest):
            raise ValueError(f"{len(rest)} bytes are left of an observation")
        return assemble(self.space, iter(parts))

    def write_rows(self, observations: Sequence[Any]) -> tuple[bool, bytes]:
        """Encodes each row's observation. @raises EnvironmentFault"""
        leaf = self.only
        if leaf is not None and not leaf.is_choice:
            joined = _join(leaf, observations)
            if joined is not None:
                return True, joined
        written = [self.write(observation) for observation in observations]
        if all(is_natural for is_natural, _ in written):
            return True, b"".join(data for _, data in written)
        return False, b"".join(self._tag_all(observation) for observation in observations)

    def read_rows(self, data: memoryview, count: int, is_natural: bool) -> Sequence[Any]:
        """Decodes an observation for each row. Those that are arrays may be rows of one array."""
        leaf = self.only
        if is_natural and leaf is not None:
            numbers: Any = np.frombuffer(data, leaf.dtype).reshape(count, *leaf.shape)
            if leaf.is_choice:
                return list(numbers.tolist())
            together: Sequence[Any] = copy_rows(numbers, leaf) if leaf.shape == () else numbers.copy()
            return together
        rows = []
        for _ in range(count):
            parts, data = self._read(data, is_natural)
            rows.append(assemble(self.space, iter(parts)))
        return rows

    def write_batch(self, batch: Any, count: int) -> tuple[bool, bytes]:
        """Encodes the arrays of a vector environment, one for each leaf, whose first dimension counts the rows. @raises EnvironmentFault"""
        try:
            arrays = [np.asarray(part) for part in split_parts(self.space, batch)]
        except Exception as error:
            raise self._create_fault(batch) from error
        pairs = list(zip(self.leaves, arrays, strict=True))
        if any(array.shape != (count, *leaf.shape) or array.dtype not in _CODES for leaf, array in pairs):
            raise self._create_fault(batch)
        if all(array.dtype == leaf.dtype for leaf, array in pairs):
            return True, b"".join(array.tobytes() for _, array in pairs)
        return False, b"".join(bytes([_ARRAY + _CODES[array.dtype]]) + array.tobytes() for _, array in pairs)

    def read_batch(self, data: memoryview, count: int, is_natural: bool) -> Any:
        arrays = []
        for leaf in self.leaves:
            dtype = leaf.dtype
            if not is_natural:
                dtype, data = _DTYPES[data[0] - _ARRAY], data[1:]
            array, data = _read_array(data, dtype, (count, *leaf.shape))
            arrays.append(array)
        return assemble(self.space, iter(arrays))

    def _read(self, data: memoryview, is_natural: bool) -> tuple[list[Any], memoryview]:
        parts = []
        for leaf in self.leaves:
            part, data = _read_natural(leaf, data) if is_natural else _read_tagged(leaf, data)
            parts.append(part)
        return parts, data

    def _tag_all(self, observation: Any) -> bytes:
        try:
            parts = split_parts(self.space, observation)
            return b"".join(_write_tagged(leaf, part) for leaf, part in zip(self.leaves, parts, strict=True))
        except (ValueError, TypeError, OverflowError) as error:
            raise self._create_fault(observation) from error

    def _create_fault(self, observation: Any) -> EnvironmentFault:
        found = f"{type(observation).__name__}, shape {_get_shape(observation)}"
        return EnvironmentFault(f"the observation ({found}) does not fit {self.space}, and a policy apart is sent what fits only")


def _join(leaf: Leaf, observations: Sequence[Any]) -> bytes | None:
    """Returns the bytes of all observations; None unless all are contiguous arrays with the space's dtype and shape."""
    dtype, shape = leaf.dtype, leaf.shape
    for one in observations:
        # NumPy has one object for each dtype, unless code has made another. `is` is faster than `==`.
        if type(one) is not np.ndarray or one.dtype is not dtype or one.shape != shape:
            return None
    try:
        return b"".join(observations)
    except ValueError:
        return None


def _get_shape(value: Any) -> Any:
    try:
        return np.shape(value)
    except Exception:
        return "unknown"


def _is_natural(leaf: Leaf, part: Any) -> bool:
    if leaf.is_choice:
        return type(part) is int and -(2**63) <= part < 2**63
    return type(part) is np.ndarray and part.dtype == leaf.dtype and part.shape == leaf.shape


def _write_natural(leaf: Leaf, part: Any) -> bytes:
    data: bytes = part.to_bytes(8, "little", signed=True) if leaf.is_choice else part.tobytes()
    return data


def _read_natural(leaf: Leaf, data: memoryview) -> tuple[Any, memoryview]:
    if leaf.is_choice:
        return int.from_bytes(data[:8], "little", signed=True), data[8:]
    return _read_array(data, leaf.dtype, leaf.shape)


def _write_tagged(leaf: Leaf, part: Any) -> bytes:
    if _is_natural(leaf, part):
        return bytes([_AS_SPACE_HAS_IT]) + _write_natural(leaf, part)
    if leaf.shape == ():
        for kind, tag, dtype in ((bool, _BOOL, "?"), (int, _INT, "<i8"), (float, _FLOAT, "<f8")):
            if type(part) is kind:
                return bytes([tag]) + np.array(part, dtype).tobytes()
        if isinstance(part, np.generic):
            return bytes([_SCALAR + _find_code(part.dtype)]) + part.tobytes()
    array = np.asarray(part)
    if array.shape != leaf.shape:
        raise ValueError(f"the shape is {array.shape}, expected {leaf.shape}")
    return bytes([_ARRAY + _find_code(array.dtype)]) + array.astype(array.dtype.newbyteorder("=")).tobytes()


def _find_code(dtype: Any) -> int:
    code = _CODES.get(dtype.newbyteorder("="))
    if code is None:
        raise ValueError(f"numbers of the type {dtype} are not sent")
    return code


def _read_tagged(leaf: Leaf, data: memoryview) -> tuple[Any, memoryview]:
    tag, data = data[0], data[1:]
    if tag == _AS_SPACE_HAS_IT:
        return _read_natural(leaf, data)
    if tag in (_INT, _FLOAT, _BOOL):
        number, data = _read_array(data, np.dtype({_INT: "<i8", _FLOAT: "<f8", _BOOL: "?"}[tag]), ())
        return number.item(), data
    if tag >= _ARRAY:
        return _read_array(data, _DTYPES[tag - _ARRAY], leaf.shape)
    scalar, data = _read_array(data, _DTYPES[tag - _SCALAR], ())
    return scalar[()], data


def _read_array(data: memoryview, dtype: Any, shape: tuple[int, ...]) -> tuple[Any, memoryview]:
    length = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    return np.frombuffer(data[:length], dtype).reshape(shape).copy(), data[length:]

"""Spaces as plain data, from which the policy's program builds equal spaces."""

import base64
from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import spaces

from muster_runner.json_fields import FieldError, Object, as_count, as_list, as_object, as_text, required

Space = spaces.Space[Any]


class UnsentSpace(Exception):
    """A space that cannot be described to another program."""


def write_space(space: Space) -> Object:
    """Describes a space. @raises UnsentSpace, naming the kind. A subclass of a Gymnasium space may behave in any way, so it is not sent."""
    kind = type(space)
    if kind is spaces.Box:
        return {"kind": "box", "low": _write_array(space.low), "high": _write_array(space.high)}  # type: ignore[attr-defined]
    if isinstance(space, spaces.Discrete) and kind is spaces.Discrete:
        return {"kind": "discrete", "n": int(space.n), "start": int(space.start), "dtype": np.dtype(space.dtype).str}
    if isinstance(space, spaces.MultiDiscrete) and kind is spaces.MultiDiscrete:
        return {"kind": "multi-discrete", "nvec": _write_array(space.nvec), "start": _write_array(space.start)}
    if isinstance(space, spaces.MultiBinary) and kind is spaces.MultiBinary:
        return {"kind": "multi-binary", "shape": [int(size) for size in space.shape]}
    if isinstance(space, spaces.Tuple) and kind is spaces.Tuple:
        return {"kind": "tuple", "parts": [write_space(part) for part in space.spaces]}
    if isinstance(space, spaces.Dict) and kind is spaces.Dict:
        if not all(isinstance(name, str) for name in space.spaces):
            raise UnsentSpace("a Dict space with keys that are no strings")
        return {"kind": "dict", "parts": [[name, write_space(part)] for name, part in space.spaces.items()]}
    raise UnsentSpace(f"a {kind.__module__}.{kind.__qualname__} space")


def read_space(data: Object) -> Space:
    """Builds a space from its description. @raises FieldError"""
    kind = as_text(required(data, "kind", "space"), "space.kind")
    made = _MADE.get(kind)
    if made is None:
        raise FieldError(f'space.kind is "{kind}", expected one of {", ".join(_MADE)}')
    return made(data)


def _make_box(data: Object) -> Space:
    low, high = _read_array(data, "low"), _read_array(data, "high")
    return spaces.Box(low, high, dtype=low.dtype.type)


def _make_discrete(data: Object) -> Space:
    start = required(data, "start", "space")
    if type(start) is not int:
        raise FieldError("space.start is no whole number")
    dtype = np.dtype(as_text(required(data, "dtype", "space"), "space.dtype")).type
    return spaces.Discrete(as_count(required(data, "n", "space"), "space.n"), start=start, dtype=dtype)


def _make_multi_discrete(data: Object) -> Space:
    nvec = _read_array(data, "nvec")
    return spaces.MultiDiscrete(nvec, dtype=nvec.dtype.type, start=_read_array(data, "start"))


def _make_multi_binary(data: Object) -> Space:
    shape = [as_count(size, "space.shape") for size in as_list(required(data, "shape", "space"), "space.shape")]
    return spaces.MultiBinary(shape if len(shape) != 1 else shape[0])


def _make_tuple(data: Object) -> Space:
    parts = as_list(required(data, "parts", "space"), "space.parts")
    return spaces.Tuple([read_space(as_object(part, "space.parts")) for part in parts])


def _make_dict(data: Object) -> Space:
    parts = as_list(required(data, "parts", "space"), "space.parts")
    pairs = [as_list(pair, "space.parts") for pair in parts]
    # Pairs keep their order; Gymnasium would sort a dictionary's.
    return spaces.Dict([(as_text(name, "space.parts"), read_space(as_object(part, "space.parts"))) for name, part in pairs])


_MADE: dict[str, Callable[[Object], Space]] = {
    "box": _make_box,
    "discrete": _make_discrete,
    "multi-discrete": _make_multi_discrete,
    "multi-binary": _make_multi_binary,
    "tuple": _make_tuple,
    "dict": _make_dict,
}


def _write_array(array: Any) -> Object:
    """Describes an array; by one number when all are equal."""
    numbers = np.ascontiguousarray(array)
    flat = numbers.reshape(-1)
    kept = flat[:1] if flat.size and (flat == flat[0]).all() else flat
    return {"dtype": numbers.dtype.str, "shape": list(np.shape(array)), "numbers": base64.b64encode(kept.tobytes()).decode()}


def _read_array(data: Object, name: str) -> Any:
    value = as_object(required(data, name, "space"), f"space.{name}")
    shape = tuple(as_count(size, "shape") for size in as_list(required(value, "shape", name), "shape"))
    dtype = np.dtype(as_text(required(value, "dtype", name), "dtype"))
    kept = np.frombuffer(base64.b64decode(as_text(required(value, "numbers", name), "numbers")), dtype)
    return np.full(shape, kept[0]) if kept.size == 1 else kept.reshape(shape).copy()

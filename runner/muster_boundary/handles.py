"""The candidate's objects that the tests hold. Each has a number, and is described once."""

from __future__ import annotations

import functools
import types
from typing import Any

from muster_boundary.dunders import ALONE, BETWEEN
from muster_boundary.plain import NAMED, NotPlain, Value

_FUNCTIONS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.MethodWrapperType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    functools.partial,
    type(functools.lru_cache(lambda: None)),
)
_PLAIN_BASES: tuple[type, ...] = (str, bytes, int, float, tuple, frozenset, list, dict, set)


class Handles:
    """Gives objects numbers. It keeps every object, because the tests may use it again."""

    def __init__(self) -> None:
        self._objects: list[Any] = []
        self._numbers: dict[int, int] = {}

    def object(self, number: int) -> Any:
        """Returns the object of a number. Raises LookupError."""
        return self._objects[number]

    def refer(self, value: Any) -> Value:
        """Writes an object as its number, with a description the first time."""
        if isinstance(value, (types.CoroutineType, types.AsyncGeneratorType)):
            raise NotPlain(f"{value.__qualname__}() is asynchronous, and the tests cannot await it; have the candidate run it itself")
        number = self._numbers.get(id(value))
        if number is not None:
            return {"object": number}
        number = self._numbers[id(value)] = len(self._objects)
        self._objects.append(value)
        return {"object": number, "is": self._describe(value)}

    def _describe(self, value: Any) -> dict[str, Any]:
        if isinstance(value, types.ModuleType):
            return {"kind": "module", "name": value.__name__}
        if isinstance(value, type):
            return self._describe_class(value)
        kind = type(value)
        described = {"kind": _find_kind(value), "class": self.refer(kind)}
        base = next((each for each in _PLAIN_BASES if isinstance(value, each)), None)
        return described if base is None else {**described, "base": base.__name__}

    def _describe_class(self, kind: type) -> dict[str, Any]:
        own = [each for each in kind.__mro__ if each is not object]
        return {
            "kind": "class",
            "module": str(kind.__module__),
            "name": kind.__qualname__,
            "bases": [{"name": base.__name__} if NAMED.get(base.__name__) is base else self.refer(base) for base in kind.__bases__],
            "methods": [name for name in (*ALONE, *BETWEEN) if any(name in vars(each) for each in own)],
            "compares": any("__eq__" in vars(each) for each in own if NAMED.get(each.__name__) is not each),
        }


def _find_kind(value: Any) -> str:
    kind = type(value)
    if isinstance(value, BaseException):
        return "exception"
    if isinstance(value, _FUNCTIONS):
        return "function"
    if hasattr(kind, "__next__") and kind.__module__ in ("builtins", "itertools"):
        return "iterator"
    return "context" if kind.__module__ == "contextlib" else "object"

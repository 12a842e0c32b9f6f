"""Checks callers' arguments, because Python checks no types at run time."""

import inspect
import math
from collections.abc import Callable
from difflib import get_close_matches
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, get_args
from urllib.parse import quote

from muster_client.errors import InvalidArgument

Given = ParamSpec("Given")
Result = TypeVar("Result")
Entrance = TypeVar("Entrance", bound=type)


def assert_is(name: str, given: object, kind: type | tuple[type, ...], expected: str) -> None:
    """Raises InvalidArgument unless the value has the type."""
    if not isinstance(given, kind):
        raise InvalidArgument(f"{name}: expected {expected}, got {given!r}")


def assert_open(*, closed: bool) -> None:
    """Raises InvalidArgument once the client is closed."""
    if closed:
        raise InvalidArgument("the client is closed; call it inside of its `with` block, or before `close`")


def quote_part(name: str, given: object, expected: str) -> str:
    """Returns a text as one part of a path, which it cannot change. Raises InvalidArgument for what is no text."""
    if not isinstance(given, str):
        raise InvalidArgument(f"{name}: expected {expected}, got {given!r}")
    return quote(given, safe="")


def assert_seconds(name: str, given: object) -> None:
    """Raises InvalidArgument unless the value is a number of seconds from 0 on."""
    if isinstance(given, bool) or not isinstance(given, int | float) or math.isnan(given) or given < 0:
        raise InvalidArgument(f"{name}: expected a number of seconds, 0 or more, got {given!r}")


def assert_known(given: dict[str, object], known: type, named: tuple[str, ...] = ()) -> None:
    """Raises TypeError, as Python does, for a keyword that is neither a key of `known`, a typed dictionary, nor a parameter in `named`, and
    for a required key that is missing.
    """
    required, optional = vars(known)["__required_keys__"], vars(known)["__optional_keys__"]
    for name in given.keys() - required - optional:
        there = sorted([*required, *optional, *named])
        meant = get_close_matches(name, there, 1)
        remedy = f"did you mean {meant[0]!r}?" if meant else f"expected one of {', '.join(there)}"
        raise TypeError(f"unexpected keyword argument {name!r}; {remedy}")
    if missing := sorted(required - given.keys()):
        raise TypeError(f"missing keyword arguments: {', '.join(missing)}")


def suggests_keywords(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Names the keyword that was meant. Python 3.11 names none, and speaks of a missing argument where a required one is misspelt."""
    signature = inspect.signature(function)
    named, others = _list_keywords(signature)

    @wraps(function)
    def checked(*args: Given.args, **options: Given.kwargs) -> Result:
        try:
            signature.bind(*args, **options)
        except TypeError:
            for name in options.keys() - {*named, *others}:
                if meant := get_close_matches(name, [*named, *others], 1):
                    what = f"{function.__qualname__}() got an unexpected keyword argument {name!r}"
                    raise TypeError(f"{what}; did you mean {meant[0]!r}?") from None
        return function(*args, **options)

    return checked


def suggests_keywords_of_methods(entrance: Entrance) -> Entrance:
    """Applies `suggests_keywords` to `__init__`, `__call__` and the public methods of a class."""
    for name, member in list(vars(entrance).items()):
        if inspect.isfunction(member) and (name in ("__init__", "__call__") or not name.startswith("_")):
            setattr(entrance, name, suggests_keywords(member))
    return entrance


def _list_keywords(signature: inspect.Signature) -> tuple[list[str], list[str]]:
    """@returns the parameters that can be given by name, and the keys of the typed dictionary of the others."""
    named = [one.name for one in signature.parameters.values() if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
    rest: list[Any] = [one.annotation for one in signature.parameters.values() if one.kind is one.VAR_KEYWORD]
    others = [key for annotation in rest for known in get_args(annotation) for key in getattr(known, "__annotations__", {})]
    return [name for name in named if name != "self"], others


def did_you_mean(path: Path) -> str:
    """Suggests the nearest existing name for a path that does not exist."""
    names = [beside.name for beside in path.parent.iterdir()] if path.parent.is_dir() else []
    meant = get_close_matches(path.name, names, 1)
    return f" (did you mean {path.with_name(meant[0])}?)" if meant else ""

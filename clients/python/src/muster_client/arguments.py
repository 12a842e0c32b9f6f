"""Checks callers' arguments, because Python checks no types at run time."""

import math
from difflib import get_close_matches
from pathlib import Path

from muster_client.errors import InvalidArgument


def assert_is(name: str, given: object, kind: type | tuple[type, ...], expected: str) -> None:
    """Raises InvalidArgument unless the value has the type."""
    if not isinstance(given, kind):
        raise InvalidArgument(f"{name}: expected {expected}, got {given!r}")


def assert_seconds(name: str, given: object) -> None:
    """Raises InvalidArgument unless the value is a number of seconds from 0 on."""
    if isinstance(given, bool) or not isinstance(given, int | float) or math.isnan(given) or given < 0:
        raise InvalidArgument(f"{name}: expected a number of seconds, 0 or more, got {given!r}")


def assert_known(given: dict[str, object], known: type, named: tuple[str, ...] = ()) -> None:
    """Raises TypeError, as Python does, for a keyword that is neither a key of `known`, a typed dictionary, nor a parameter in `named`."""
    optional: frozenset[str] = vars(known)["__optional_keys__"]
    for name in given.keys() - optional:
        there = sorted([*optional, *named])
        meant = get_close_matches(name, there, 1)
        remedy = f"did you mean {meant[0]!r}?" if meant else f"expected one of {', '.join(there)}"
        raise TypeError(f"unexpected keyword argument {name!r}; {remedy}")


def did_you_mean(path: Path) -> str:
    """Suggests the nearest existing name for a path that does not exist."""
    names = [beside.name for beside in path.parent.iterdir()] if path.parent.is_dir() else []
    meant = get_close_matches(path.name, names, 1)
    return f" (did you mean {path.with_name(meant[0])}?)" if meant else ""

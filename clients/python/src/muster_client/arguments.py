"""What callers give, held against what it has to be: nothing else looks at types when a program runs."""

import math
from difflib import get_close_matches

from muster_client.errors import InvalidArgument


def assert_is(name: str, given: object, kind: type | tuple[type, ...], expected: str) -> None:
    """Raises InvalidArgument."""
    if not isinstance(given, kind):
        raise InvalidArgument(f"{name}: expected {expected}, got {given!r}")


def assert_seconds(name: str, given: object) -> None:
    """Raises InvalidArgument for what is no number of seconds."""
    if isinstance(given, bool) or not isinstance(given, int | float) or math.isnan(given):
        raise InvalidArgument(f"{name}: expected a number of seconds, got {given!r}")


def assert_known(given: dict[str, object], known: type, named: tuple[str, ...] = ()) -> None:
    """Raises TypeError, as Python does, for a keyword that is neither a key of `known`, a typed dictionary, nor a parameter in `named`."""
    optional: frozenset[str] = vars(known)["__optional_keys__"]
    for name in given.keys() - optional:
        meant = get_close_matches(name, [*optional, *named], 1) or sorted([*optional, *named])
        raise TypeError(f"unexpected keyword argument {name!r}; did you mean {' or '.join(map(repr, meant))}?")

"""The special methods of a candidate's class that the tests can call on its objects."""


def _add_underscores(names: str) -> list[str]:
    return [f"__{name}__" for name in names.split()]


ALONE = _add_underscores(
    "call len iter next getitem setitem delitem reversed bool int float complex index abs neg pos invert round trunc floor ceil bytes "
    "enter exit str repr format"
)
"""The special methods that the candidate's object answers itself."""

_OPERATORS = "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and xor or"
BETWEEN = [each for prefix in ("", "r", "i") for each in _add_underscores(" ".join(f"{prefix}{name}" for name in _OPERATORS.split()))]
"""Operators. Both operands must be the candidate's own, so that the candidate learns nothing of the values that a test expects."""

ORDERS = _add_underscores("lt le gt ge")
"""Comparisons, which the candidate never answers."""

_TESTS_OF_TEXT = "alnum alpha ascii decimal digit identifier lower numeric printable space title upper"
TESTS_OF_VALUES = frozenset(
    [f"is{kind}" for kind in _TESTS_OF_TEXT.split()]
    + ["startswith", "endswith", "count", "index", "find", "rfind", "rindex", "issubset", "issuperset", "isdisjoint", "is_integer"]
)
"""Methods of plain data that tests compare with. An object with versions of its own could claim to equal everything."""

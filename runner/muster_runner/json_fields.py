"""Reads typed fields of JSON documents from outside. Every error names the field, its value and the expected one."""

import json
import math
from collections.abc import Collection
from typing import Any


class FieldError(Exception):
    """A document that has a wrong field."""


Object = dict[str, Any]


def parse_object(text: str | bytes, where: str) -> Object:
    """Parses one JSON object. @raises FieldError when `text` is not one."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FieldError(f"{where} is not JSON: {error}") from None
    return as_object(value, where)


def as_object(value: Any, where: str) -> Object:
    if not isinstance(value, dict):
        raise _create_error(where, value, "an object")
    return value


def as_list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise _create_error(where, value, "a list")
    return value


def as_text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise _create_error(where, value, "a string")
    return value


def as_count(value: Any, where: str) -> int:
    """Returns a whole number from 0 on."""
    if type(value) is not int or value < 0:
        raise _create_error(where, value, "a whole number from 0 on")
    return value


def as_positive_number(value: Any, where: str) -> float:
    if type(value) not in (int, float) or not 0 < value < math.inf:
        raise _create_error(where, value, "a number above 0")
    return float(value)


def as_flag(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise _create_error(where, value, "true or false")
    return value


def as_numbers(value: Any, where: str) -> list[float]:
    """Returns a list of finite numbers."""
    numbers = as_list(value, where)
    if not all(type(number) in (int, float) and math.isfinite(number) for number in numbers):
        raise _create_error(where, value, "a list of finite numbers")
    return [float(number) for number in numbers]


def as_choice(value: Any, where: str, choices: Collection[str]) -> str:
    if not isinstance(value, str) or value not in choices:
        raise _create_error(where, value, " or ".join(json.dumps(choice) for choice in choices))
    return value


def required(document: Object, name: str, where: str, expected: str | None = None) -> Any:
    """@param expected: the expected value in words, for fields that people write."""
    if name not in document:
        raise FieldError(f'{where} has no "{name}"' + ("" if expected is None else f", expected {expected}"))
    return document[name]


def only(document: Object, names: Collection[str], where: str) -> None:
    """Refuses unknown fields, because a misspelt one would be ignored silently."""
    for name in document:
        if name not in names:
            known = ", ".join(f'"{known}"' for known in names)
            raise FieldError(f'{where} has an unknown field "{name}"; known are {known}')


def _create_error(where: str, value: Any, expected: str) -> FieldError:
    shown = json.dumps(value)
    shortened = shown if len(shown) <= 80 else f"{shown[:80]}…"
    return FieldError(f"{where} is {shortened}, expected {expected}")

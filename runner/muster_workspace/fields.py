"""Reads the fields of a frame. A wrong field is a defect of Muster, and ends the session."""

from base64 import b64decode
from typing import Any

from muster_workspace.channel import ProtocolError

Frame = dict[str, Any]


def text(frame: Frame, name: str) -> str:
    """Returns a text without NUL characters."""
    value = frame.get(name)
    if not isinstance(value, str) or "\0" in value:
        raise ProtocolError(f"{name} is {value!r}, expected a text")
    return value


def texts(frame: Frame, name: str) -> list[str]:
    """Returns a list of texts."""
    value = frame.get(name)
    if not isinstance(value, list) or not all(isinstance(each, str) and "\0" not in each for each in value):
        raise ProtocolError(f"{name} is {value!r}, expected texts")
    return value


def variables(frame: Frame, name: str) -> dict[str, str]:
    """Returns names and values of environment variables."""
    value = frame.get(name)
    if not isinstance(value, dict) or not all(isinstance(each, str) and "\0" not in each for each in value.values()):
        raise ProtocolError(f"{name} is {value!r}, expected names with texts")
    return value


def whole(frame: Frame, name: str) -> int:
    """Returns a whole number from 0 on."""
    value = frame.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ProtocolError(f"{name} is {value!r}, expected a whole number from 0 on")
    return value


def wholes(frame: Frame, name: str) -> list[int]:
    """Returns a list of whole numbers from 0 on."""
    value = frame.get(name)
    if not isinstance(value, list) or not all(isinstance(each, int) and not isinstance(each, bool) and each >= 0 for each in value):
        raise ProtocolError(f"{name} is {value!r}, expected whole numbers from 0 on")
    return value


def number(frame: Frame, name: str) -> float:
    """Returns a positive number."""
    value = frame.get(name)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < 1e9:
        raise ProtocolError(f"{name} is {value!r}, expected a positive number")
    return float(value)


def truth(frame: Frame, name: str) -> bool:
    """Returns a boolean."""
    value = frame.get(name)
    if not isinstance(value, bool):
        raise ProtocolError(f"{name} is {value!r}, expected true or false")
    return value


def data(frame: Frame, name: str) -> bytes:
    """Returns bytes, which the frame has in base 64."""
    try:
        return b64decode(text(frame, name), validate=True)
    except ValueError as error:
        raise ProtocolError(f"{name} is not base 64") from error

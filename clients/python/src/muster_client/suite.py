"""Suites: the name that the server knows, the content, or a file of this machine."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from muster_client.arguments import assert_is, did_you_mean
from muster_client.errors import InvalidArgument
from muster_client.fields import Fields

SuiteLike = str | os.PathLike[str] | Mapping[str, Any]
"""A name; a path that ends in .yaml, .yml or .json; or the content of such a file."""


@dataclass(frozen=True, slots=True)
class KnownSuite:
    """A suite that the server has a name for."""

    name: str
    digest: str
    """The digest of its present content, with its modules."""
    template: str
    """The template of the sandboxes in which it is played."""


def read_known_suite(fields: Fields) -> KnownSuite:
    return KnownSuite(fields.text("name"), fields.text("digest"), fields.text("template"))


FILE_ENDINGS = (".yaml", ".yml", ".json")
WEIGHTS_ENDINGS = (".safetensors", ".onnx", ".pt", ".ts", ".pth", ".keras", ".zip")


def build_suite_reference(given: SuiteLike) -> str | dict[str, Any]:
    """Returns the suite in the form of requests. It is only read here: the server checks it, and names wrong fields."""
    if isinstance(given, Mapping):
        return dict(given)
    assert_is("suite", given, (str, os.PathLike), "the name of a suite, the path of a YAML or JSON file, or a mapping")
    text = os.fspath(given)
    if text.endswith(WEIGHTS_ENDINGS):
        raise InvalidArgument(f"suite: {text} has the name of a checkpoint's file; give the checkpoint before the suite")
    if isinstance(given, str) and not text.endswith(FILE_ENDINGS):
        return text
    return _read(Path(text))


def _read(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        meant = did_you_mean(path) if isinstance(error, FileNotFoundError) else ""
        expected = "expected a YAML or JSON file, or the name of a suite"
        raise InvalidArgument(f"suite: {path} cannot be read: {error}{meant}; {expected}") from error
    value = _parse_json(path, text) if path.suffix == ".json" else _parse_yaml(path, text)
    if isinstance(value, dict):
        return value
    raise InvalidArgument(f"suite: {path} holds {type(value).__name__}; expected a mapping, as examples of suites have it")


def _parse_json(path: Path, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise InvalidArgument(f"suite: {path} is not valid JSON: {error}") from error


def _parse_yaml(path: Path, text: str) -> Any:
    try:
        from ruamel.yaml import YAML
        from ruamel.yaml.error import YAMLError
    except ImportError:
        raise InvalidArgument(f"suite: to read {path}, install muster-client[yaml]; or give the suite as a mapping") from None
    try:
        return YAML(typ="safe", pure=True).load(text)
    except YAMLError as error:
        raise InvalidArgument(f"suite: {path} is not valid YAML: {error}") from error

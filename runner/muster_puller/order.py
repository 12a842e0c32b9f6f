"""Muster's order to fetch files, read from JSON."""

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from muster_runner.json_fields import (
    FieldError,
    Object,
    as_count,
    as_list,
    as_object,
    as_positive_number,
    as_text,
    only,
    required,
)

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class WantedFile:
    """A file of a checkpoint, and its URLs. The URLs are secrets: any holder of one can read the file."""

    path: PurePosixPath
    size: int
    sha256: str
    # The file's URL at Muster.
    url: str
    # The URL of the file's origin, from which it may be fetched without Muster. The file there may have changed or be gone.
    bucket_url: str | None = None


@dataclass(frozen=True)
class PullOrder:
    """An order to fetch files into a directory that does not exist yet."""

    into: Path
    files: tuple[WantedFile, ...]
    seconds: float
    # Local files by the SHA-256 of their content. A file may arrive as its difference from one of them.
    bases: dict[str, Path]


def parse_pull(document: Object) -> PullOrder:
    """Parses an order. @raises FieldError"""
    only(document, ("kind", "into", "files", "seconds", "bases"), "order")
    return PullOrder(
        into=_parse_absolute(required(document, "into", "order"), "order.into"),
        files=parse_files(required(document, "files", "order")),
        seconds=as_positive_number(required(document, "seconds", "order"), "order.seconds"),
        bases=dict(_parse_base(base, f"order.bases[{i}]") for i, base in enumerate(as_list(document.get("bases", []), "order.bases"))),
    )


def parse_files(value: Any) -> tuple[WantedFile, ...]:
    """Parses the files of an order. @raises FieldError"""
    files = tuple(_parse_file(file, f"order.files[{i}]") for i, file in enumerate(as_list(value, "order.files")))
    if not files:
        raise FieldError("order.files is empty, expected at least one file")
    return files


def parse_sha256(value: Any, where: str) -> str:
    """Parses a SHA-256. @raises FieldError"""
    text = as_text(value, where)
    if not _SHA256.fullmatch(text):
        raise FieldError(f"{where} is {text[:80]!r}, expected 64 hexadecimal digits")
    return text


def _parse_file(value: Any, where: str) -> WantedFile:
    document = as_object(value, where)
    only(document, ("path", "size", "sha256", "url", "bucketUrl"), where)
    return WantedFile(
        path=_parse_relative(required(document, "path", where), f"{where}.path"),
        size=as_count(required(document, "size", where), f"{where}.size"),
        sha256=parse_sha256(required(document, "sha256", where), f"{where}.sha256"),
        url=as_text(required(document, "url", where), f"{where}.url"),
        bucket_url=as_text(document["bucketUrl"], f"{where}.bucketUrl") if "bucketUrl" in document else None,
    )


def _parse_base(value: Any, where: str) -> tuple[str, Path]:
    document = as_object(value, where)
    only(document, ("sha256", "path"), where)
    sha256 = parse_sha256(required(document, "sha256", where), f"{where}.sha256")
    return sha256, _parse_absolute(required(document, "path", where), f"{where}.path")


def _parse_absolute(value: Any, where: str) -> Path:
    text = as_text(value, where)
    if not text.startswith("/") or "\0" in text:
        raise FieldError(f"{where} is {text[:80]!r}, expected an absolute path")
    return Path(text)


def _parse_relative(value: Any, where: str) -> PurePosixPath:
    text = as_text(value, where)
    if "\0" in text or any(part in ("", ".", "..") for part in text.split("/")):
        raise FieldError(f"{where} is {text[:80]!r}, expected a relative path without '.' and '..'")
    return PurePosixPath(text)

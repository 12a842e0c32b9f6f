"""Names checkpoints, and computes the digests of those on this machine."""

import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from muster_client.arguments import assert_is, did_you_mean
from muster_client.errors import InvalidArgument

SHA256 = re.compile(r"(sha256:)?[0-9a-f]{64}")
URI = re.compile(r"[a-z][a-z0-9+.-]*://.+|file:.+")
NAME = re.compile(r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,255}")
UNSAFE_IN_PATH = re.compile(r"[\x00-\x1f\x7f-\x9f\\\ufffd\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A policy's weights: exactly one of `path`, `uri` and `sha256`."""

    path: str | os.PathLike[str] | None = None
    """A file or directory of this machine, which is uploaded when the server does not have it."""
    uri: str | None = None
    """A URI that the server reads."""
    sha256: str | None = None
    """The SHA-256 of a checkpoint that the server has."""
    run: str | None = None
    """The training run to which it belongs."""
    version: int | None = None
    """The training step."""
    base: str | os.PathLike[str] | None = None
    """A checkpoint that the server may have, such as the run's previous one. It requires `path`: only the difference is sent, if that is
    smaller. Checkpoints that the same client has uploaded need not be named.
    """
    name: str | None = None
    """The name in lists, at most 255 characters; by default the name of the file or directory in `path`."""

    def __post_init__(self) -> None:
        given = [name for name in ("path", "uri", "sha256") if getattr(self, name) is not None]
        if len(given) != 1:
            raise InvalidArgument(f"checkpoint: expected one of path, uri and sha256, got {' and '.join(given) or 'none'}")
        for name in given:
            is_path = name == "path"
            assert_is(f"checkpoint.{name}", getattr(self, name), (str, os.PathLike) if is_path else str, "a path" if is_path else "text")
            if getattr(self, name) == "":
                raise InvalidArgument(f"checkpoint.{name}: it is empty; is a variable in it not set?")
        if self.base is not None:
            assert_is("checkpoint.base", self.base, (str, os.PathLike), "a path")
        if self.base is not None and self.path is None:
            raise InvalidArgument("checkpoint.base: expected beside path: only a file that is sent can be encoded as a delta")
        if self.name is not None and not (isinstance(self.name, str) and NAME.fullmatch(self.name)):
            raise InvalidArgument(f"checkpoint.name: expected 1 to 255 characters without control characters, got {self.name!r}")
        if self.sha256 is not None and not SHA256.fullmatch(self.sha256):
            raise InvalidArgument(f"checkpoint.sha256: expected 64 lower-case hexadecimal digits, got {self.sha256!r}")


CheckpointLike = str | os.PathLike[str] | Checkpoint
"""A path, a URI, a SHA-256 (64 hexadecimal digits, with or without `sha256:`), or a `Checkpoint`, which says explicitly which of them it
is.
"""


def normalize_checkpoint(given: CheckpointLike, run: str | None = None, version: int | None = None) -> Checkpoint:
    """Returns a checkpoint. @param run, version: the labels if it has none of its own."""
    if isinstance(given, Checkpoint):
        return replace(given, run=run if given.run is None else given.run, version=version if given.version is None else given.version)
    if isinstance(given, str) and SHA256.fullmatch(given):
        return Checkpoint(sha256=given, run=run, version=version)
    if isinstance(given, str) and URI.fullmatch(given):
        return Checkpoint(uri=given, run=run, version=version)
    return Checkpoint(path=given, run=run, version=version)


def format_checkpoint(checkpoint: Checkpoint, digest: str | None) -> dict[str, Any]:
    """Returns the checkpoint in the form of requests. @param digest: the digest of a checkpoint that was given by its path."""
    found = {
        "uri": checkpoint.uri,
        "sha256": digest or checkpoint.sha256,
        "name": checkpoint.name or _file_name(checkpoint.path),
        "run": checkpoint.run,
        "version": checkpoint.version,
    }
    return {name: value for name, value in found.items() if value is not None}


def _file_name(path: str | os.PathLike[str] | None) -> str | None:
    """Returns the name of a file; None when a server would refuse it."""
    name = "" if path is None else Path(path).absolute().name
    return name if NAME.fullmatch(name) and name != ".." else None


@dataclass(frozen=True, slots=True)
class LocalFile:
    """The state of a file when it was read."""

    path: str
    """The path in the checkpoint, with `/` between its parts."""
    address: Path
    size: int
    sha256: str
    modified: int = 0
    """The modification time when it was read, in nanoseconds since 1970."""

    def is_unchanged(self) -> bool:
        """Returns whether the file is unchanged since it was read, as far as its times show. Raises OSError."""
        found = self.address.stat()
        return (found.st_size, found.st_mtime_ns) == (self.size, self.modified)


@dataclass(frozen=True, slots=True)
class LocalCheckpoint:
    sha256: str
    files: tuple[LocalFile, ...]
    manifest: bytes | None
    """The manifest of a directory: a line `<sha256>  <path>` for each file, sorted by path in byte order. None for a file."""


def read_checkpoint(given: str | os.PathLike[str]) -> LocalCheckpoint:
    """Reads all files once. Links are followed, and their targets are evaluated."""
    path = Path(given)
    if path.is_file():
        file = _read_file(path.name, path)
        beside = _find_data_beside(path)
        return LocalCheckpoint(file.sha256, (file,), None) if beside is None else _read_directory([file, _read_file(beside.name, beside)])
    if not path.is_dir():
        absent = f"there is no file or directory {path}{did_you_mean(path)}"
        raise InvalidArgument(
            f"checkpoint or agent: {absent}; expected a path, a URI such as s3://…, or a SHA-256 of 64 hexadecimal digits"
        )
    found = [_read_file(name, address) for name, address in _walk(path, "", (path.resolve(),))]
    if not found:
        raise InvalidArgument(f"checkpoint: {path} has no files in it; expected the policy's weights")
    return _read_directory(found)


def _find_data_beside(path: Path) -> Path | None:
    """Returns the file in which PyTorch's exporter writes an ONNX model's weights. The two files are one checkpoint, so that its digest
    covers both.
    """
    beside = path.with_name(f"{path.name}.data")
    return beside if path.name.endswith(".onnx") and beside.is_file() else None


def _read_directory(found: list[LocalFile]) -> LocalCheckpoint:
    files = sorted(found, key=lambda file: file.path.encode())
    manifest = "".join(f"{file.sha256}  {file.path}\n" for file in files).encode()
    return LocalCheckpoint(hashlib.sha256(manifest).hexdigest(), tuple(files), manifest)


def _walk(directory: Path, within: str, chain: tuple[Path, ...]) -> Iterator[tuple[str, Path]]:
    for child in directory.iterdir():
        path = f"{within}/{child.name}" if within else child.name
        if child.is_dir():
            real = child.resolve()
            if real in chain:
                raise InvalidArgument(f"checkpoint: {child} leads back to {real}, which contains it; remove the link")
            yield from _walk(child, path, (*chain, real))
        elif child.is_file():
            yield path, child
        else:
            raise InvalidArgument(f"checkpoint: {child} is not a file or a directory, or is a broken link; remove it")


def _read_file(path: str, address: Path) -> LocalFile:
    if UNSAFE_IN_PATH.search(path):
        found = "a control character, a backslash or bytes that are not UTF-8"
        raise InvalidArgument(f"checkpoint: the path {path!r} has {found} in it; rename it")
    try:
        with address.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            return LocalFile(path, address, file.tell(), sha256, os.fstat(file.fileno()).st_mtime_ns)
    except OSError as error:
        raise InvalidArgument(f"checkpoint: {address} cannot be read: {error.strerror}") from error


def read_part(file: LocalFile, offset: int, most_bytes: int) -> bytes:
    """Reads a part of a file. Raises `InvalidArgument` when the file is shorter than it was."""
    expected = min(most_bytes, file.size - offset)
    try:
        with file.address.open("rb") as opened:
            opened.seek(offset)
            part = opened.read(expected)
    except OSError as error:
        raise InvalidArgument(f"checkpoint: {file.address} cannot be read any more: {error.strerror}") from error
    if len(part) == expected:
        return part
    raise InvalidArgument(f"checkpoint: {file.address} has become shorter while it was sent; write it under another name, then rename it")

"""Reads files of a workspace for an agent: a file's content, the entries of a directory, the lines that contain a text.

Processes of the agent may run meanwhile and may have left links. So a path is resolved first, must lie below a directory that programs may
write to, and is then walked without following links.
"""

import contextlib
import os
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass

from muster_workspace.channel import DATA_BYTES, Channel
from muster_workspace.places import Refusal, describe_kind, open_below, open_directory, split_below, translate_path_errors

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# Directories below this depth are listed but not entered.
_DEEPEST = 64
# The largest number of entries of one directory, which are sorted before the first is sent.
_MOST_NAMES = 100_000
# Bounds of a search in bytes, not in time, so that its result does not depend on the speed of the machine.
_SEARCHED_FILE_BYTES = 8 << 20
_SEARCHED_BYTES = 64 << 20
# The largest number of entries that one listing or search visits.
_WALKED_ENTRIES = 50_000
_LINE_BYTES = 400


def resolve(path: str, bases: tuple[str, ...]) -> tuple[str, list[str]]:
    """Follows links. Returns the writable directory that contains the path, and the names below it."""
    return split_below(os.path.realpath(path), bases)


def open_parent(base: str, parts: list[str]) -> AbstractContextManager[int]:
    """Opens the directory that contains a resolved path."""
    return open_directory(base, parts[:-1], make=False)


class Looking:
    """Reads files, and changes none."""

    def __init__(self, channel: Channel, bases: tuple[str, ...]) -> None:
        self._channel = channel
        self._bases = bases

    def read(self, request: int, path: str, most: int) -> None:
        """Sends the content of a file of at most `most` bytes."""
        base, parts = resolve(path, self._bases)
        if not parts:
            raise Refusal("directory", path, "is a directory")
        with translate_path_errors(path), open_parent(base, parts) as directory:
            data, mode = _read_content(directory, parts[-1], path, most)
        self._channel.send_data({"type": "data", "request": request}, data)
        self._channel.send({"type": "file", "request": request, "bytes": len(data), "executable": mode & 0o100 != 0})

    def list(self, request: int, path: str, depth: int, most: int) -> None:
        """Sends the entries of a directory, and those of directories in it to this depth, in the order of their names."""
        total = 0
        for entry in self._walk(path, depth):
            if total == _WALKED_ENTRIES:
                break
            total += 1
            if total <= most:
                about = {"path": entry.path, "kind": entry.kind, "bytes": entry.size}
                self._channel.send({"type": "listed", "request": request, **about})
        self._channel.send({"type": "counted", "request": request, "total": total, "complete": total <= most})

    def search(self, request: int, path: str, wanted: str, ignores_case: bool, most: int) -> None:
        """Sends the lines that contain a text."""
        needle = wanted.encode()
        needle = needle.lower() if ignores_case else needle
        total, bytes_left = 0, _SEARCHED_BYTES
        for walked, entry in enumerate(self._walk(path, _DEEPEST)):
            if walked == _WALKED_ENTRIES:
                bytes_left = -1
                break
            if entry.kind != "file" or entry.size > _SEARCHED_FILE_BYTES:
                continue
            if bytes_left < entry.size:
                bytes_left = -1
                break
            data = _searched(entry, _SEARCHED_FILE_BYTES)
            bytes_left -= len(data)
            for line, text in _find_lines(data, needle, ignores_case):
                total += 1
                if total <= most:
                    self._channel.send({"type": "match", "request": request, "path": entry.path, "line": line, "text": text})
        self._channel.send({"type": "counted", "request": request, "total": total, "complete": bytes_left >= 0 and total <= most})

    def _walk(self, path: str, depth: int) -> "Iterator[_Entry]":
        base, parts = resolve(path, self._bases)
        with translate_path_errors(path), open_directory(base, parts, make=False) as directory:
            yield from _walk_below(directory, "", depth, path)


@dataclass(frozen=True)
class _Entry:
    directory: int
    name: str
    path: str
    """Relative to the directory that is walked."""
    kind: str
    size: int


def _walk_below(directory: int, prefix: str, depth: int, where: str) -> Iterator[_Entry]:
    for name in _list_names(directory, where):
        try:
            about = os.stat(name, dir_fd=directory, follow_symlinks=False)
        except FileNotFoundError:
            continue
        entry = _Entry(directory, name, f"{prefix}{name}", _name_kind(about.st_mode), about.st_size if stat.S_ISREG(about.st_mode) else 0)
        yield entry
        if entry.kind == "directory" and depth > 1:
            # A directory that is gone, or that its owner may not read, is listed without its entries.
            with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError), open_below(directory, name) as below:
                yield from _walk_below(below, f"{entry.path}/", depth - 1, where)


def _list_names(directory: int, where: str) -> list[str]:
    names: list[str] = []
    with os.scandir(directory) as entries:
        for entry in entries:
            names.append(entry.name)
            if len(names) > _MOST_NAMES:
                raise Refusal("too-many", where, f"holds a directory of more than {_MOST_NAMES} entries")
    return sorted(names)


def _name_kind(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "link"
    if stat.S_ISDIR(mode):
        return "directory"
    return "file" if stat.S_ISREG(mode) else "special"


def _read_content(directory: int, name: str, path: str, most: int) -> tuple[bytes, int]:
    descriptor = os.open(name, _READ, dir_fd=directory)
    try:
        found = os.fstat(descriptor)
        if stat.S_ISDIR(found.st_mode):
            raise Refusal("directory", path, "is a directory")
        if not stat.S_ISREG(found.st_mode):
            raise Refusal("special", path, f"is {describe_kind(found.st_mode)}")
        if found.st_size > most:
            raise Refusal("too-large", path, f"has {found.st_size} bytes; expected {most} at most")
        return _read_all(descriptor, path, most), found.st_mode
    finally:
        os.close(descriptor)


def _read_all(descriptor: int, path: str, most: int) -> bytes:
    data = bytearray()
    while part := os.read(descriptor, DATA_BYTES):
        data += part
        if len(data) > most:
            raise Refusal("too-large", path, "grew while it was read")
    return bytes(data)


def _searched(entry: _Entry, most: int) -> bytes:
    """Returns the content to search; nothing for a file that cannot be read, or is no text."""
    try:
        data, _ = _read_content(entry.directory, entry.name, entry.path, most)
    except (OSError, Refusal):
        return b""
    return b"" if b"\0" in data[:8192] else data


def _find_lines(data: bytes, needle: bytes, ignores_case: bool) -> Iterator[tuple[int, str]]:
    searched = data.lower() if ignores_case else data
    line, counted, at = 1, 0, searched.find(needle)
    while at >= 0:
        line += data.count(b"\n", counted, at)
        counted = at
        start = data.rfind(b"\n", 0, at) + 1
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        first = max(start, at - _LINE_BYTES // 2)
        yield line, data[first : min(end, first + _LINE_BYTES)].decode("utf-8", "replace")
        at = searched.find(needle, end)

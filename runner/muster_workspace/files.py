"""Copies files into the sandbox and out of it."""

import os
import stat
from typing import Any

from muster_workspace.channel import DATA_BYTES, Channel
from muster_workspace.places import Refusal, describe_kind, open_below, open_directory, remove, renew, split_below, translate_path_errors

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# The limit of Linux's file systems.
_NAME_BYTES = 255
_DEEPEST = 64


class Incoming:
    """Writes a file that arrives in parts. The first part replaces a file of that name."""

    def __init__(self, writable: tuple[str, ...]) -> None:
        self._writable = writable
        self._descriptor = -1
        self._failure: Refusal | OSError | None = None

    def put(self, path: str, mode: int, data: bytes, is_first: bool, is_last: bool) -> None:
        """Writes one part. Raises Refusal and OSError at the last part, also for an error of an earlier one."""
        if is_first:
            self._close()
            self._failure = None
        if self._failure is None:
            try:
                if is_first:
                    self._open(path, mode & 0o777)
                self._write(data)
            except (Refusal, OSError) as error:
                self._failure = error
        if is_last:
            self._close()
            if self._failure is not None:
                raise self._failure

    def _open(self, path: str, mode: int) -> None:
        base, parts = split_below(path, self._writable)
        if not parts:
            raise Refusal("path", path, "is a directory")
        with open_directory(base, parts[:-1], make=True) as directory:
            try:
                self._descriptor = os.open(parts[-1], _NEW, mode, dir_fd=directory)
            except FileExistsError:
                remove(parts[-1], directory)
                self._descriptor = os.open(parts[-1], _NEW, mode, dir_fd=directory)
            os.fchmod(self._descriptor, mode)

    def _write(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            left = left[os.write(self._descriptor, left) :]

    def _close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def wipe(path: str, writable: tuple[str, ...]) -> None:
    """Makes an empty directory, which replaces a file or a directory of that name."""
    base, parts = split_below(path, writable)
    if not parts:
        with open_directory(base, [], make=False) as directory:
            renew(directory)
        return
    with open_directory(base, parts[:-1], make=True) as directory:
        remove(parts[-1], directory)
        os.mkdir(parts[-1], 0o755, dir_fd=directory)


class Bounds:
    """The number of files and bytes that may still be sent."""

    def __init__(self, files: int, most_bytes: int) -> None:
        self.files = files
        self.bytes = most_bytes


class Outgoing:
    """Sends files to Muster, with their paths inside the sandbox."""

    def __init__(self, channel: Channel, answer: dict[str, Any], bounds: Bounds) -> None:
        self._channel = channel
        self._answer = answer
        self._bounds = bounds

    def give(self, path: str) -> None:
        """Sends a file, or all files in a directory. Raises Refusal, which the caller reports instead of the rest."""
        if path == "/" or not path.startswith("/") or os.path.normpath(path) != path:
            raise Refusal("path", path, "is not a normalised absolute path")
        names = path.split("/")[1:]
        with translate_path_errors(path), open_directory("/", names[:-1], make=False) as directory:
            self._visit_entry(directory, names[-1], path, 0)

    def _visit_entry(self, directory: int, name: str, path: str, depth: int) -> None:
        _check_name(name, path)
        kind = os.stat(name, dir_fd=directory, follow_symlinks=False)
        if stat.S_ISLNK(kind.st_mode):
            raise Refusal("link", path, "is a link")
        if stat.S_ISDIR(kind.st_mode):
            self._visit_directory(directory, name, path, depth)
        elif stat.S_ISREG(kind.st_mode):
            self._file(directory, name, path)
        else:
            raise Refusal("special", path, f"is {describe_kind(kind.st_mode)}")

    def _visit_directory(self, directory: int, name: str, path: str, depth: int) -> None:
        if depth >= _DEEPEST:
            raise Refusal("too-deep", path, f"is more than {_DEEPEST} directories deep")
        self._count(path)
        self._channel.send({**self._answer, "type": "entry", "kind": "directory", "path": path})
        with open_below(directory, name) as below:
            for each in self._list_names(below, path):
                self._visit_entry(below, each, f"{path}/{each}", depth + 1)

    def _list_names(self, directory: int, path: str) -> list[str]:
        names: list[str] = []
        with os.scandir(directory) as entries:
            for entry in entries:
                names.append(entry.name)
                if len(names) > self._bounds.files:
                    raise Refusal("too-many", path, "contains more files than allowed")
        return sorted(names)

    def _file(self, directory: int, name: str, path: str) -> None:
        self._count(path)
        descriptor = os.open(name, _READ, dir_fd=directory)
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise Refusal("special", path, f"is {describe_kind(found.st_mode)}")
            if found.st_size > self._bounds.bytes:
                raise Refusal("too-large", path, f"has {found.st_size} bytes, more than allowed")
            executable = found.st_mode & 0o100 != 0
            self._channel.send({**self._answer, "type": "entry", "kind": "file", "path": path, "executable": executable})
            while data := file.read(DATA_BYTES):
                self._bounds.bytes -= len(data)
                if self._bounds.bytes < 0:
                    raise Refusal("too-large", path, "grew while it was read")
                self._channel.send_data({**self._answer, "type": "data"}, data)

    def _count(self, path: str) -> None:
        self._bounds.files -= 1
        if self._bounds.files < 0:
            raise Refusal("too-many", path, "is one file or directory more than allowed")


def _check_name(name: str, path: str) -> None:
    try:
        encoded = name.encode("utf-8")
    except UnicodeEncodeError as error:
        raise Refusal("name", path.encode("utf-8", "backslashreplace").decode(), "has a name that is not UTF-8") from error
    # A script that reads names line by line would take a name with a line feed for two.
    if any(ord(character) < 0x20 or 0x7F <= ord(character) < 0xA0 for character in name):
        raise Refusal("name", path, "has a name with a control character")
    if len(encoded) > _NAME_BYTES:
        raise Refusal("name", path, f"has a name of more than {_NAME_BYTES} bytes")

"""Reports the changes of a workspace since the last look: the files that a step has changed."""

import os
import stat
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from typing import Any

from muster_workspace.channel import DATA_BYTES, Channel
from muster_workspace.places import Refusal, open_below, open_directory, split_below, translate_path_errors

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_DEEPEST = 64
_get_name = attrgetter("name")

_Mark = tuple[int, ...]
"""A mark that every change of a file changes: it contains the time of the last change, which only the kernel can set."""


@dataclass
class _Left:
    """The number of entries and bytes that may still be reported."""

    entries: int
    bytes: int


class Snapshots:
    """Keeps a mark of every file, and reports the files whose mark has changed."""

    def __init__(self, channel: Channel, writable: tuple[str, ...]) -> None:
        self._channel = channel
        self._writable = writable
        self._marks: dict[str, _Mark] = {}
        self._paths: tuple[str, ...] = ()
        self._is_behind = False
        """Whether the last look was refused. The next one reports all changes since the look before it."""

    def note(self, path: str) -> None:
        """Notes that the change of this path has been reported, so that the next look leaves it out."""
        if self._is_behind or not any(path.startswith(f"{each}/") for each in self._paths):
            return
        try:
            self._marks[path] = _mark_of(os.lstat(path))
        except FileNotFoundError:
            self._marks.pop(path, None)

    def take(self, request: int, paths: list[str], most_entries: int, most_bytes: int, is_baseline: bool) -> None:
        """Reports the changes below directories; none for the first look. Raises Refusal; the next look then reports them again."""
        self._is_behind = True
        look = _Look(self._channel, {"request": request}, self._marks, _Left(most_entries, most_bytes), is_baseline)
        for path in paths:
            base, parts = split_below(path, self._writable)
            with translate_path_errors(path), open_directory(base, parts, make=False) as directory:
                look.below(directory, path, 0)
        if not is_baseline:
            for path in self._marks:
                if path not in look.marks:
                    self._channel.send({"request": request, "type": "removed", "path": path})
        self._marks, self._paths = look.marks, tuple(paths)
        self._is_behind = False


def arrange(directories: list[str], links: list[str], targets: list[str], writable: tuple[str, ...]) -> None:
    """Makes directories and links."""
    for path in directories:
        base, parts = split_below(path, writable)
        with open_directory(base, parts, make=True):
            pass
    for path, target in zip(links, targets, strict=True):
        base, parts = split_below(path, writable)
        with open_directory(base, parts[:-1], make=True) as directory:
            os.symlink(target, parts[-1], dir_fd=directory)


class _Look:
    def __init__(self, channel: Channel, answer: dict[str, Any], before: dict[str, _Mark], left: _Left, is_baseline: bool) -> None:
        self.marks: dict[str, _Mark] = {}
        self._channel = channel
        self._answer = answer
        self._before = before
        self._left = left
        self._is_baseline = is_baseline

    def below(self, directory: int, path: str, depth: int) -> None:
        if depth > _DEEPEST:
            raise Refusal("too-deep", path, f"is more than {_DEEPEST} directories deep")
        for entry in self._list_entries(directory, path):
            # The agent's processes may remove any entry meanwhile.
            try:
                self._take_entry(directory, entry, f"{path}/{entry.name}", depth)
            except FileNotFoundError:
                continue

    def _list_entries(self, directory: int, path: str) -> "list[os.DirEntry[str]]":
        with os.scandir(directory) as scanned:
            entries = list(islice(scanned, self._left.entries + 1))
        self._left.entries -= len(entries)
        if self._left.entries < 0:
            raise Refusal("too-many", path, "contains more files than can be stored")
        entries.sort(key=_get_name)
        return entries

    def _take_entry(self, directory: int, entry: "os.DirEntry[str]", path: str, depth: int) -> None:
        found = entry.stat(follow_symlinks=False)
        mode = found.st_mode
        is_directory = stat.S_ISDIR(mode)
        mark = _mark_of(found)
        if not is_directory and not stat.S_ISREG(mode) and not stat.S_ISLNK(mode):
            return
        name = entry.name
        if not self._is_baseline and self._before.get(path) != mark:
            _check_name(path)
            self._tell(directory, name, path, mode)
        self.marks[path] = mark
        if is_directory:
            with open_below(directory, name) as inside:
                self.below(inside, path, depth + 1)

    def _tell(self, directory: int, name: str, path: str, mode: int) -> None:
        entry = {**self._answer, "type": "entry", "path": path}
        if stat.S_ISDIR(mode):
            self._channel.send({**entry, "kind": "directory"})
        elif stat.S_ISLNK(mode):
            target = os.readlink(name, dir_fd=directory)
            _check_name(target)
            self._channel.send({**entry, "kind": "link", "target": target})
        else:
            self._channel.send({**entry, "kind": "file", "executable": mode & 0o100 != 0})
            self._take_content(directory, name, path)

    def _take_content(self, directory: int, name: str, path: str) -> None:
        descriptor = os.open(name, _READ, dir_fd=directory)
        try:
            while data := os.read(descriptor, DATA_BYTES):
                self._left.bytes -= len(data)
                if self._left.bytes < 0:
                    raise Refusal("too-large", path, "is more than can be stored for one step")
                self._channel.send_data({**self._answer, "type": "data"}, data)
        finally:
            os.close(descriptor)


def _mark_of(found: os.stat_result) -> _Mark:
    # The entries of a directory are reported one by one.
    if stat.S_ISDIR(found.st_mode):
        return (0,)
    return (found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _check_name(name: str) -> None:
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise Refusal("name", os.fsencode(name).decode("utf-8", "backslashreplace"), "has a name that is not UTF-8") from error

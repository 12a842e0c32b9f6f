"""Changes several files of a workspace together: all of them, or none."""

import contextlib
import errno
import os
import stat
from dataclasses import dataclass

from muster_workspace.looking import resolve
from muster_workspace.places import Refusal, describe_kind, open_directory, translate_path_errors

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MODE = 0o644


@dataclass(frozen=True)
class Written:
    """A file to write, with its content."""

    path: str
    content: memoryview


@dataclass(frozen=True)
class _Place:
    base: str
    parts: list[str]
    path: str


@dataclass(frozen=True)
class _Staged:
    place: _Place
    temporary: str
    mode: int


@dataclass(frozen=True)
class Changed:
    """A path that a change has made, written or removed, after links are followed."""

    kind: str
    """directory, file or removed."""
    path: str
    is_executable: bool = False


class Change:
    """A change of several files. Everything that can fail happens before the first file is replaced: new contents are written beside their
    files, and then renamed.
    """

    def __init__(self, bases: tuple[str, ...]) -> None:
        self._bases = bases
        self._staged: list[_Staged] = []
        self._made: list[tuple[str, list[str]]] = []

    def apply(self, written: list[Written], removed: list[str]) -> list[Changed]:
        """Carries out the change. Returns directories that were made, then files in the order given. Raises Refusal and OSError, and then
        nothing has changed.
        """
        try:
            removals = [self._plan_removal(path) for path in removed]
            for each in written:
                self._stage(each)
        except BaseException:
            self._undo()
            raise
        for staged in self._staged:
            with open_directory(staged.place.base, staged.place.parts[:-1], make=False) as directory:
                os.rename(staged.temporary, staged.place.parts[-1], src_dir_fd=directory, dst_dir_fd=directory)
        for place in removals:
            with open_directory(place.base, place.parts[:-1], make=False) as directory:
                os.unlink(place.parts[-1], dir_fd=directory)
        return [
            *(Changed("directory", _join_path(base, parts)) for base, parts in self._made),
            *(Changed("file", _join_path(each.place.base, each.place.parts), each.mode & 0o100 != 0) for each in self._staged),
            *(Changed("removed", _join_path(place.base, place.parts)) for place in removals),
        ]

    def _plan_write(self, path: str) -> _Place:
        base, parts = resolve(path, self._bases)
        if not parts:
            raise Refusal("directory", path, "is a directory")
        return _Place(base, parts, path)

    def _plan_removal(self, path: str) -> _Place:
        place = self._plan_write(path)
        with translate_path_errors(path), open_directory(place.base, place.parts[:-1], make=False) as directory:
            _choose_mode(place, directory, must_exist=True)
        return place

    def _stage(self, written: Written) -> None:
        place = self._plan_write(written.path)
        with translate_path_errors(written.path):
            self._make_parents(place)
            with open_directory(place.base, place.parts[:-1], make=False) as directory:
                mode = _choose_mode(place, directory, must_exist=False)
                temporary = f".muster-{os.urandom(8).hex()}"
                descriptor = os.open(temporary, _NEW, mode, dir_fd=directory)
                self._staged.append(_Staged(place, temporary, mode))
                try:
                    os.fchmod(descriptor, mode)
                    left = written.content
                    while left:
                        left = left[os.write(descriptor, left) :]
                finally:
                    os.close(descriptor)

    def _make_parents(self, place: _Place) -> None:
        for depth in range(1, len(place.parts)):
            with open_directory(place.base, place.parts[: depth - 1], make=False) as directory:
                try:
                    os.mkdir(place.parts[depth - 1], 0o755, dir_fd=directory)
                except FileExistsError:
                    continue
                self._made.append((place.base, place.parts[:depth]))

    def _undo(self) -> None:
        for staged in self._staged:
            place = staged.place
            # The agent's own processes may have removed or moved it in the meantime.
            with contextlib.suppress(OSError), open_directory(place.base, place.parts[:-1], make=False) as directory:
                os.unlink(staged.temporary, dir_fd=directory)
        for base, parts in reversed(self._made):
            with contextlib.suppress(OSError), open_directory(base, parts[:-1], make=False) as directory:
                os.rmdir(parts[-1], dir_fd=directory)


def _join_path(base: str, parts: list[str]) -> str:
    return "/".join([base, *parts])


def _choose_mode(place: _Place, directory: int, must_exist: bool) -> int:
    """Returns the mode that the file has or gets. Raises Refusal when the path is not a file."""
    try:
        found = os.stat(place.parts[-1], dir_fd=directory, follow_symlinks=False).st_mode
    except FileNotFoundError:
        if must_exist:
            raise
        return _MODE
    if stat.S_ISDIR(found):
        raise Refusal("directory", place.path, "is a directory")
    if stat.S_ISLNK(found):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), place.path)
    if not stat.S_ISREG(found):
        raise Refusal("special", place.path, f"is {describe_kind(found)}")
    return stat.S_IMODE(found) & 0o777

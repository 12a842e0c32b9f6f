"""Finds files below the directories that programs may write to, without following links.

A program that ran in the sandbox before may have put links in place of files or directories.
"""

import errno
import itertools
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

_SHOWN_CHARACTERS = 4096
# The mode of a writable directory, if it belongs to the programs' user.
_BASE_MODE = 0o1777
# The extended attributes that a program may set on its own directory. The kernel owns all others.
_OWN_ATTRIBUTES = ("user.", "system.posix_acl_")
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Refusal(Exception):
    """A file that cannot be copied in or out as it is. `kind` is for programs."""

    def __init__(self, kind: str, path: str, detail: str) -> None:
        super().__init__(f"{path}: {detail}")
        self.kind = kind
        self.path = path
        self.detail = detail


def split_below(path: str, bases: tuple[str, ...]) -> tuple[str, list[str]]:
    """Splits a normalised absolute path into the innermost writable directory that contains it, and the names below that."""
    parts = path.split("/")[1:]
    if not path.startswith("/") or (path != "/" and any(part in ("", ".", "..") for part in parts)):
        raise Refusal("path", path, "is not a normalised absolute path")
    base = max((base for base in bases if path == base or path.startswith(f"{base}/")), key=len, default=None)
    if base is not None:
        return base, path[len(base) :].split("/")[1:]
    raise Refusal("path", path, f"is in none of the writable directories {', '.join(bases)}")


def explain(problem: Refusal | OSError, path: str) -> dict[str, str]:
    """Describes a problem for a frame. `path` stands in where the problem names none."""
    if isinstance(problem, Refusal):
        kind, path, detail = problem.kind, problem.path, problem.detail
    else:
        kind, path, detail = "failed", str(problem.filename or path), problem.strerror or str(problem)
    return {"kind": kind, "path": path[:_SHOWN_CHARACTERS], "detail": detail[:_SHOWN_CHARACTERS]}


@contextmanager
def translate_path_errors(path: str) -> Iterator[None]:
    """Turns an error of the system on the way along a path into a Refusal with the reason."""
    try:
        yield
    except FileNotFoundError as error:
        raise Refusal("missing", path, "is not there") from error
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise Refusal("link", path, "is a link that cannot be followed") from error
        if error.errno == errno.ENOTDIR:
            raise Refusal("link", path, "is reached through a file or a link that is no directory") from error
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise Refusal("full", path, "cannot be written: there is no space left") from error
        raise Refusal("unreadable", path, error.strerror or str(error)) from error


def describe_kind(mode: int) -> str:
    """Names, for people, what is neither a regular file, nor a directory, nor a link."""
    if stat.S_ISFIFO(mode):
        return "a named pipe"
    if stat.S_ISSOCK(mode):
        return "a socket"
    return "a device"


@contextmanager
def open_directory(base: str, parts: list[str], make: bool) -> Iterator[int]:
    """Opens a directory below a base."""
    descriptor = open_base(base)
    try:
        for part in parts:
            if make:
                _make(part, descriptor)
            below = _open_descriptor(part, descriptor)
            os.close(descriptor)
            descriptor = below
        yield descriptor
    finally:
        os.close(descriptor)


def open_base(base: str) -> int:
    """Opens one of the writable directories. It is a mount point, so no program can replace it.

    If it belongs to the programs' user, a program may have removed its permissions, which are then restored.
    """
    try:
        return os.open(base, _DIRECTORY)
    except PermissionError:
        os.chmod(base, _BASE_MODE)  # noqa: PTH101 -- pathlib costs time and memory in every sandbox
        return os.open(base, _DIRECTORY)


def renew(base: int) -> None:
    """Empties a directory that programs may write to, and undoes their changes of its mode and attributes."""
    found = os.fstat(base)
    if found.st_uid == os.geteuid():
        attributes = _own_attributes(base)
        if attributes or stat.S_IMODE(found.st_mode) != _BASE_MODE:
            os.fchmod(base, _BASE_MODE)
            for name in attributes:
                os.removexattr(base, name)
            # Removing an access control list leaves its permissions in the mode.
            os.fchmod(base, _BASE_MODE)
    empty(base)


@contextmanager
def open_below(directory: int, name: str) -> Iterator[int]:
    """Opens a directory in another directory."""
    descriptor = _open_descriptor(name, directory)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _open_descriptor(name: str, directory: int) -> int:
    descriptor = os.open(name, _DIRECTORY, dir_fd=directory)
    # Older versions of gVisor follow a link to a directory in spite of O_NOFOLLOW.
    if os.path.samestat(os.fstat(descriptor), os.stat(name, dir_fd=directory, follow_symlinks=False)):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)


def _own_attributes(base: int) -> list[str]:
    try:
        return [name for name in os.listxattr(base) if name.startswith(_OWN_ATTRIBUTES)]
    except OSError as error:
        # The file system has no extended attributes.
        if error.errno == errno.ENOTSUP:
            return []
        raise


def empty(directory: int) -> None:
    """Removes everything in a directory, of any mode and depth: it moves the entries of each subdirectory up, then removes the
    subdirectory.
    """
    moved = itertools.count()
    has_more = True
    while has_more:
        has_more = False
        for name, is_directory in _list_entries(directory):
            if is_directory:
                has_more = True
                os.chmod(name, 0o700, dir_fd=directory)
                with open_below(directory, name) as below:
                    _move_up(below, directory, moved)
                os.rmdir(name, dir_fd=directory)
            else:
                os.unlink(name, dir_fd=directory)


def _move_up(below: int, directory: int, moved: Iterator[int]) -> None:
    for name, is_directory in _list_entries(below):
        if is_directory:
            # Moving a directory changes its entry "..", which requires write permission.
            os.chmod(name, 0o700, dir_fd=below)
            os.rename(name, f".muster-{os.urandom(8).hex()}-{next(moved)}", src_dir_fd=below, dst_dir_fd=directory)
        else:
            os.unlink(name, dir_fd=below)


def _list_entries(directory: int) -> list[tuple[str, bool]]:
    """Lists the names in a directory, and whether each is a directory."""
    with os.scandir(directory) as entries:
        return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]


def _is_directory(name: str, directory: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode)


def remove(name: str, directory: int) -> None:
    """Removes a file, or a directory with all its content, of any mode. It is no failure if nothing is there."""
    try:
        if not _is_directory(name, directory):
            os.unlink(name, dir_fd=directory)
            return
    except FileNotFoundError:
        return
    os.chmod(name, 0o700, dir_fd=directory)
    with open_below(directory, name) as below:
        empty(below)
    os.rmdir(name, dir_fd=directory)


def _make(name: str, directory: int) -> None:
    try:
        os.mkdir(name, 0o755, dir_fd=directory)
    except FileExistsError:
        return

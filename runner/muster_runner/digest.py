"""Computes the digest of a checkpoint: the SHA-256 of its content."""

import hashlib
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from muster_runner.large_file import LARGE_BYTES, read_large_pieces
from muster_runner.refusal import PolicyRefusal

BUFFER_BYTES = 32 * 1024


def compute_digest(path: Path) -> str:
    """Returns `sha256:` and the digest of a file's bytes, or of a directory's listing.

    A directory's listing has one line `<sha256 hex>  <relative/posix/path>` for each regular file in it, as `sha256sum` prints them, sorted
    by the bytes of the path.

    @raises PolicyRefusal when the path does not exist, or is a kind of file without such a digest.
    """
    if path.is_dir():
        return f"sha256:{hashlib.sha256(_list_files(path)).hexdigest()}"
    if path.is_file():
        return f"sha256:{_digest_file(path)}"
    raise PolicyRefusal(f"there is no checkpoint at {path}")


def verify_digest(path: Path, expected: str) -> str:
    """Returns the digest. @raises PolicyRefusal when the content does not have the expected one."""
    try:
        digest = compute_digest(path)
    except OSError as error:
        raise PolicyRefusal(f"the checkpoint cannot be read: {error}") from error
    if digest != expected:
        raise PolicyRefusal(f"the checkpoint's digest is {digest}, expected {expected}: it changed or was not copied whole")
    return digest


@contextmanager
def verify_digest_beside(path: Path, expected: str) -> Iterator[None]:
    """Verifies as `verify_digest` does, in a thread beside the `with` block, and waits for both.

    The work in the block counts only when this ends without an error, so it must only read data and have no effects. Data with a wrong
    digest may make it fail; the error then names the digest.

    @raises PolicyRefusal as `verify_digest` does, and whatever the work raises.
    """
    problems: list[BaseException] = []

    def verify() -> None:
        try:
            verify_digest(path, expected)
        except BaseException as error:
            problems.append(error)

    thread = threading.Thread(target=verify)
    thread.start()
    try:
        yield
    finally:
        thread.join()
        if problems:
            raise problems[0]


def _list_files(directory: Path) -> bytes:
    files: list[tuple[bytes, Path]] = []
    for parent, folders, names in os.walk(directory):
        for name in (*folders, *names):
            path = Path(parent, name)
            relative = path.relative_to(directory).as_posix()
            if path.is_symlink():
                # The digest would not cover the link's target.
                raise PolicyRefusal(f"the checkpoint contains a symbolic link, {relative}: replace it by the file")
            if path.is_file():
                files.append((os.fsencode(relative), path))
    return b"".join(_digest_file(path).encode() + b"  " + relative + b"\n" for relative, path in sorted(files))


def _digest_file(path: Path) -> str:
    """Computes a SHA-256 as `hashlib.file_digest` does. That function's buffer is so large that it would stay in the memory of the process
    and of all processes that are forked from it.
    """
    digest = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        if os.fstat(file.fileno()).st_size >= LARGE_BYTES:
            for piece in read_large_pieces(file.fileno()):
                digest.update(piece)
            return digest.hexdigest()
        buffer = bytearray(BUFFER_BYTES)
        view = memoryview(buffer)
        while count := file.readinto(buffer):
            digest.update(view[:count])
    return digest.hexdigest()

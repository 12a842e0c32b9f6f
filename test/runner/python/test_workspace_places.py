"""Directories that belong to the user of a candidate's programs, after a candidate that was hostile to the next look at them."""

import os
import shutil
import stat
import struct
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from muster_workspace.files import Incoming, wipe

USER = 12345
DEPTH = 1500
FILES = 5000


@pytest.fixture
def base() -> Iterator[Path]:
    """On a file system of the kind that sandboxes have."""
    directory = Path(tempfile.mkdtemp(dir="/dev/shm"))
    if os.geteuid() == 0:
        os.chown(directory, USER, USER)
    yield directory
    shutil.rmtree(directory)


def as_user(act: Callable[[], None]) -> None:
    """In a process to which modes of files apply."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setresgid(USER, USER, USER)
                os.setresuid(USER, USER, USER)
            act()
            code = 0
        finally:
            if code != 0:
                traceback.print_exc()
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0


def close(base: Path) -> None:
    locked = base / "locked"
    locked.mkdir()
    (locked / "file").touch()
    locked.chmod(0)
    base.chmod(0)


def deny_by_default(base: Path) -> None:
    """New files and directories get no right at all."""
    entries = b"".join(struct.pack("<HHI", tag, 0, 0xFFFF_FFFF) for tag in (1, 4, 32))
    for name in ("system.posix_acl_default", "system.posix_acl_access"):
        os.setxattr(base, name, struct.pack("<I", 2) + entries)


def leave_a_note(base: Path) -> None:
    os.setxattr(base, "user.runs", b"1")
    base.chmod(0o751)


def nest(base: Path) -> None:
    os.chdir(base)
    for _ in range(DEPTH):
        Path("d").mkdir()
        os.chdir("d")
    Path("..").chmod(0)


def name_badly(base: Path) -> None:
    for name in (b"\xff\xfe", b"a\nb", b"\x1b[2J", b"x" * 255, b"-rf", b" "):
        (base / os.fsdecode(name) / os.fsdecode(name)).mkdir(parents=True)


def make_many(base: Path) -> None:
    for number in range(FILES):
        (base / str(number)).touch()


def stand_in_the_way(base: Path) -> None:
    """Where a file and a directory are to be."""
    (base / "in/file").mkdir(parents=True)
    (base / "root").symlink_to("/")
    (base / "loop").symlink_to("loop")
    os.mkfifo(base / "pipe")
    (base / "in/file").chmod(0)


TREES = [close, deny_by_default, leave_a_note, nest, name_badly, make_many, stand_in_the_way]


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: tree.__name__)
def test_nothing_is_left_of_a_hostile_tree(base: Path, tree: Callable[[Path], None]) -> None:
    as_user(lambda: wipe(str(base), (str(base),)))
    before = describe(base)
    as_user(lambda: tree(base))
    assert describe(base) != before

    def look_again() -> None:
        wipe(str(base), (str(base),))
        Incoming((str(base),)).put(f"{base}/in/file", 0o640, b"content", is_first=True, is_last=True)
        assert (base / "in/file").read_bytes() == b"content"
        wipe(str(base), (str(base),))

    as_user(look_again)
    assert describe(base) == before


def describe(base: Path) -> tuple[int, list[str], list[Path]]:
    """What a program could find of one before."""
    return stat.S_IMODE(base.stat().st_mode), os.listxattr(base), list(base.iterdir())

"""Reading what is large: from the page cache where it is there, past it where it is not."""

import errno
import fcntl
import hashlib
import os
import subprocess
import threading
from pathlib import Path

import pytest

from muster_runner import digest
from muster_runner.digest import compute_digest, verify_digest, verify_digest_beside
from muster_runner.large_file import BLOCK_BYTES, read_large_pieces

SIZE = 2 * BLOCK_BYTES


def written(path: Path, size: int) -> str:
    content = os.urandom(size)
    path.write_bytes(content)
    return hashlib.sha256(content).hexdigest()


def forget(path: Path) -> None:
    """Has the page cache forget it, once it is on the disk."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def cached(path: Path) -> int:
    """Bytes of it that are in the page cache."""
    found = subprocess.run(["fincore", "--bytes", "--noheadings", "--output", "RES", str(path)], capture_output=True, check=True)
    return int(found.stdout)


def read(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        for piece in read_large_pieces(file.fileno()):
            found.update(piece)
    return found.hexdigest()


@pytest.mark.parametrize("size", [0, 1, BLOCK_BYTES, SIZE - 1, SIZE, SIZE + 1, 3 * SIZE + BLOCK_BYTES + 5])
def test_a_file_is_read_whole_whether_it_is_in_the_page_cache_or_not(tmp_path: Path, size: int) -> None:
    path = tmp_path / "policy.bin"
    expected = written(path, size)
    assert read(path) == expected
    forget(path)
    assert read(path) == expected


def test_a_file_that_is_not_in_the_page_cache_is_not_put_there(tmp_path: Path) -> None:
    path = tmp_path / "policy.bin"
    expected = written(path, 16 * SIZE)
    forget(path)
    assert read(path) == expected
    assert cached(path) < 4 * SIZE


def test_where_a_file_system_refuses_to_read_past_the_page_cache_a_file_is_read_through_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "policy.bin"
    expected = written(path, 3 * SIZE + 5)
    forget(path)
    preadv, refused = os.preadv, 0

    def refuses(file: int, buffers: list[memoryview], position: int) -> int:
        nonlocal refused
        if fcntl.fcntl(file, fcntl.F_GETFL) & os.O_DIRECT:
            refused += 1
            raise OSError(errno.EINVAL, "invalid argument")
        return preadv(file, buffers, position)

    monkeypatch.setattr(os, "preadv", refuses)
    assert read(path) == expected
    assert refused > 0


def test_nothing_stays_open(tmp_path: Path) -> None:
    path = tmp_path / "policy.bin"
    written(path, SIZE)
    forget(path)
    before = sorted(Path("/proc/self/fd").iterdir())
    with path.open("rb", buffering=0) as file:
        next(read_large_pieces(file.fileno()))
    assert sorted(Path("/proc/self/fd").iterdir()) == before


def test_a_large_file_has_the_digest_that_it_would_have_if_it_were_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "policy.bin"
    expected = written(path, 3 * SIZE + 5)
    assert compute_digest(path) == f"sha256:{expected}"
    monkeypatch.setattr(digest, "LARGE_BYTES", SIZE)
    forget(path)
    assert compute_digest(path) == f"sha256:{expected}"


def test_a_sandbox_that_reads_a_file_has_no_thread_that_would_use_its_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "policy.bin"
    expected = f"sha256:{written(path, 3 * SIZE)}"
    monkeypatch.setattr(digest, "LARGE_BYTES", SIZE)
    started: list[threading.Thread] = []
    start = threading.Thread.start

    def counted(thread: threading.Thread) -> None:
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", counted)
    assert verify_digest(path, expected) == expected
    assert started == []
    with verify_digest_beside(path, expected):
        pass
    assert len(started) == 1

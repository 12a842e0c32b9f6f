"""What a sandbox's first process has to do, as a list of system calls."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster_zygote.native_program import build_native_program
from muster_zygote.settings import Settings
from muster_zygote.walls import MountsWithin, plan_walls


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory in /tmp, which another file system is to be mounted over."""
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        yield Path(directory)


def called(place: Path, *targets: str) -> list[str]:
    within = MountsWithin(tuple(str(place / target) for target in targets))
    return [call.what.replace(str(place), "PLACE") for call in (*within.open_mounts(), *within.mount_again())]


def test_a_mount_in_tmp_is_opened_first_and_mounted_again_in_its_place(place: Path) -> None:
    (place / "data" / "deep").mkdir(parents=True)
    assert called(place, "data/deep") == [
        "open PLACE/data/deep",
        "mkdir PLACE",
        "mkdir PLACE/data",
        "mkdir PLACE/data/deep",
        "mount PLACE/data/deep",
        "close 1",
    ]


def test_a_mounted_file_gets_an_empty_file_as_its_mount_point(place: Path) -> None:
    (place / "file").touch()
    assert called(place, "file") == ["open PLACE/file", "mkdir PLACE", "open PLACE/file", "close 2", "mount PLACE/file", "close 1"]


def test_shared_parent_directories_are_created_once(place: Path) -> None:
    (place / "one").mkdir()
    (place / "two").mkdir()
    made = [what for what in called(place, "one", "two") if what.startswith("mkdir")]
    assert made == ["mkdir PLACE", "mkdir PLACE/one", "mkdir PLACE/two"]


def test_a_mount_within_another_mount_has_its_mount_point_there(place: Path) -> None:
    (place / "outer" / "inner").mkdir(parents=True)
    (place / "outer" / "file").touch()
    assert called(place, "outer", "outer/inner", "outer/file") == [
        *("open PLACE/outer", "open PLACE/outer/inner", "open PLACE/outer/file"),
        *("mkdir PLACE", "mkdir PLACE/outer"),
        *("mount PLACE/outer", "mount PLACE/outer/inner", "mount PLACE/outer/file"),
        *("close 1", "close 2", "close 3"),
    ]


@pytest.mark.parametrize("own_user", [False, True])
@pytest.mark.parametrize("host_network", [False, True])
def test_all_calls_can_be_compiled_into_a_native_program(place: Path, host_network: bool, own_user: bool) -> None:
    (place / "file").touch()
    settings = Settings(
        imports=(),
        tmp_bytes=1 << 20,
        shm_bytes=1 << 20,
        mounts_within=(str(place / "file"),),
        uid=1000,
        own_user=own_user,
        host_network=host_network,
        data_bytes=2**33,
        memory_bytes=None,
        processes=None,
        open_files=64,
        filter=bytes(8),
        cgroups=(),
    )
    calls = list(plan_walls(settings))
    assert build_native_program(calls).startswith(b"\x7fELF")
    assert any(call.what == "raise lo" for call in calls) is not host_network


def test_no_calls_are_made_if_nothing_is_mounted(place: Path) -> None:
    assert called(place) == []

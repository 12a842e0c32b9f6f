"""What is made for a sandbox before its walls stand."""

import os
from pathlib import Path

import pytest

from muster_zygote import site
from muster_zygote.settings import Hierarchy, LimitFile

HIERARCHIES = (Hierarchy(5, ()), Hierarchy(6, ()), Hierarchy(7, ()))


@pytest.mark.parametrize("broken", ["stdin", "stderr", 5, 7])
def test_a_site_that_cannot_be_made_leaves_no_descriptor_open(broken: str | int, monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(which: str | int) -> int:
        if which == broken:
            raise OSError(f"{which} is broken")
        return os.open(os.devnull, os.O_RDONLY)

    monkeypatch.setattr(site, "connect", lambda _token, stream: opened(stream))
    monkeypatch.setattr(site, "make_group", lambda hierarchy, _name: opened(hierarchy.directory))
    before = open_descriptors()
    with pytest.raises(OSError, match=f"{broken} is broken"):
        site.open_site("s1", "token", HIERARCHIES)
    assert open_descriptors() == before


def test_a_missing_control_file_is_an_error_only_if_it_is_required(tmp_path: Path) -> None:
    directory = os.open(tmp_path, os.O_RDONLY)
    try:
        optional = Hierarchy(directory, (LimitFile("memory.swap.max", "0", is_optional=True),))
        with pytest.raises(FileNotFoundError, match=r"s1/cgroup\.procs"):
            site.make_group(optional, "s1")
        needed = Hierarchy(directory, (LimitFile("pids.max", "8", is_optional=False),))
        with pytest.raises(FileNotFoundError, match=r"s2/pids\.max"):
            site.make_group(needed, "s2")
    finally:
        os.close(directory)


def open_descriptors() -> set[str]:
    return {path.name for path in Path("/proc/self/fd").iterdir()}

"""What Muster tells a warden before anything else."""

import base64
import copy
from typing import Any

import pytest

from muster_runner.json_fields import FieldError
from muster_zygote.settings import Hierarchy, LimitFile, parse_settings
from muster_zygote.walls import count_inodes

FILTER = bytes(range(16))
OPEN: dict[str, Any] = {
    "type": "open",
    "imports": ["json", "gymnasium"],
    "limits": {"tmp_bytes": 4096, "shm_bytes": 8192, "data_bytes": 2**33, "memory_bytes": None, "processes": 17, "open_files": 64},
    "uid": 1000,
    "own_user": True,
    "host_network": False,
    "filter": base64.b64encode(FILTER).decode(),
    "cgroups": [
        {"directory": 5, "files": [{"file": "pids.max", "value": "8", "optional": False}]},
        {"directory": 6, "files": [{"file": "memory.memsw.limit_in_bytes", "value": "4096", "optional": True}]},
    ],
    "mounts_within": ["/tmp/python"],
    "own_root": False,
}


def changed(path: str, value: Any) -> dict[str, Any]:
    message = copy.deepcopy(OPEN)
    *parents, name = path.split(".")
    place = message
    for parent in parents:
        place = place[parent]
    if value is KeyError:
        del place[name]
    else:
        place[name] = value
    return message


def test_every_setting_is_read() -> None:
    settings = parse_settings(OPEN)
    assert settings.imports == ("json", "gymnasium")
    assert (settings.tmp_bytes, settings.shm_bytes, settings.open_files) == (4096, 8192, 64)
    assert (settings.memory_bytes, settings.processes) == (None, 17)
    assert (settings.uid, settings.own_user, settings.host_network, settings.mounts_within) == (1000, True, False, ("/tmp/python",))
    assert settings.cgroups == (
        Hierarchy(5, (LimitFile("pids.max", "8", is_optional=False),)),
        Hierarchy(6, (LimitFile("memory.memsw.limit_in_bytes", "4096", is_optional=True),)),
    )
    assert settings.filter == FILTER
    assert not settings.has_own_root


@pytest.mark.parametrize("path", [name for name in OPEN if name != "type"] + [f"limits.{name}" for name in OPEN["limits"]])
def test_a_missing_setting_is_named(path: str) -> None:
    with pytest.raises(FieldError, match=path.split(".")[-1]):
        parse_settings(changed(path, KeyError))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("imports", "json"),
        ("imports", [1]),
        ("limits", None),
        ("limits.tmp_bytes", -1),
        ("limits.shm_bytes", 0.5),
        ("limits.memory_bytes", "all"),
        ("limits.processes", True),
        ("limits.open_files", None),
        ("uid", "root"),
        ("own_user", 1),
        ("host_network", "no"),
        ("filter", 7),
        ("cgroups", [5]),
        ("cgroups", [{"directory": -1, "files": []}]),
        ("cgroups", [{"directory": 5, "files": [7]}]),
        ("mounts_within", "/tmp/python"),
        ("own_root", None),
    ],
)
def test_an_invalid_setting_is_named(path: str, value: object) -> None:
    with pytest.raises(FieldError, match=path.split(".")[-1]):
        parse_settings(changed(path, value))


@pytest.mark.parametrize(("size", "files"), [(4096, 64), (64 * 1024, 64), (1024 * 1024, 1024), (2**30, 2**20)])
def test_a_file_system_may_have_a_file_for_each_kib_and_a_least_number(size: int, files: int) -> None:
    assert count_inodes(size) == files

"""What Muster tells a warden before anything else."""

import base64
import copy
from typing import Any

import pytest

from muster_runner.json_fields import FieldError
from muster_zygote.settings import parse_settings
from muster_zygote.walls import inodes

FILTER = bytes(range(16))
OPEN: dict[str, Any] = {
    "type": "open",
    "imports": ["json", "gymnasium"],
    "limits": {"tmp_bytes": 4096, "shm_bytes": 8192, "memory_bytes": None, "processes": 17, "open_files": 64},
    "uid": 1000,
    "host_network": False,
    "filter": base64.b64encode(FILTER).decode(),
    "cgroups": [5, 6],
    "mounts_within": ["/tmp/python"],
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


def test_every_setting_arrives() -> None:
    settings = parse_settings(OPEN)
    assert settings.imports == ("json", "gymnasium")
    assert (settings.tmp_bytes, settings.shm_bytes, settings.open_files) == (4096, 8192, 64)
    assert (settings.memory_bytes, settings.processes) == (None, 17)
    assert (settings.uid, settings.host_network, settings.cgroups) == (1000, False, (5, 6))
    assert settings.filter == FILTER


@pytest.mark.parametrize("path", [name for name in OPEN if name != "type"] + [f"limits.{name}" for name in OPEN["limits"]])
def test_a_setting_that_is_missing_is_named(path: str) -> None:
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
        ("host_network", "no"),
        ("filter", 7),
        ("cgroups", [-1]),
    ],
)
def test_a_setting_that_makes_no_sense_is_named(path: str, value: object) -> None:
    with pytest.raises(FieldError, match=path.split(".")[-1]):
        parse_settings(changed(path, value))


@pytest.mark.parametrize(("size", "files"), [(4096, 64), (64 * 1024, 64), (1024 * 1024, 1024), (2**30, 2**20)])
def test_a_file_system_has_a_file_for_every_kib_and_some_at_least(size: int, files: int) -> None:
    assert inodes(size) == files

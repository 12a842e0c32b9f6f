"""The entrance to a sandbox's namespaces is a set of files."""

import os
from pathlib import Path

import pytest

from muster_zygote.entrance import list_namespaces, open_entrance
from muster_zygote.linux import Namespace
from muster_zygote.settings import Settings


def settings(host_network: bool) -> Settings:
    return Settings(
        imports=(),
        tmp_bytes=1,
        shm_bytes=1,
        mounts_within=(),
        uid=1000,
        own_user=True,
        host_network=host_network,
        data_bytes=2**33,
        memory_bytes=None,
        processes=None,
        open_files=64,
        filter=b"",
        cgroups=(),
    )


def open_files() -> set[str]:
    return {each.name for each in Path("/proc/self/fd").iterdir()}


@pytest.mark.parametrize(
    ("host_network", "names"),
    [(False, ["pid", "mnt", "ipc", "uts", "net", "user"]), (True, ["pid", "mnt", "ipc", "uts", "user"])],
)
def test_every_namespace_has_a_descriptor_with_processes_first_and_users_last(host_network: bool, names: list[str]) -> None:
    descriptors = open_entrance(os.getpid(), settings(host_network))
    try:
        opened = [Path(f"/proc/self/fd/{descriptor}").readlink() for descriptor in descriptors]
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    assert opened == [Path(f"/proc/self/ns/{name}").readlink() for name in names]
    assert list_namespaces(settings(host_network))[-1] == Namespace.USER


def test_a_process_that_has_ended_has_no_namespaces_and_nothing_stays_open() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    # The process remains a zombie, so no other process gets its number.
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    try:
        before = open_files()
        with pytest.raises(OSError, match="No such file"):
            open_entrance(pid, settings(host_network=False))
        assert open_files() == before
    finally:
        os.waitpid(pid, 0)

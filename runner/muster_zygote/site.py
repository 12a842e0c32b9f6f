"""Makes a sandbox's connections to Muster and its control groups, before the sandbox is isolated."""

import os
import socket
from pathlib import PurePosixPath

from muster_zygote.settings import Hierarchy
from muster_zygote.walls import SITES

STREAMS = ("stdin", "stdout", "stderr")


def open_site(name: str, token: str, hierarchies: tuple[Hierarchy, ...]) -> list[int]:
    """Connects to Muster, and makes the control groups.

    @returns descriptors: the program's three streams, then a cgroup.procs file in each hierarchy. @raises OSError and leaves none open.
    """
    descriptors: list[int] = []
    try:
        for stream in STREAMS:
            descriptors.append(connect(token, stream))
        for hierarchy in hierarchies:
            descriptors.append(make_group(hierarchy, name))
    except OSError:
        for descriptor in descriptors:
            os.close(descriptor)
        raise
    return descriptors


def connect(token: str, stream: str) -> int:
    """Connects to Muster. The connection becomes one of a program's streams. The token is sent here, where the program cannot see it."""
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(str(PurePosixPath(SITES, "_warden.sock")))
        connection.sendall(f"{token} {stream}\n".encode())
        if stream == "stdin":
            connection.shutdown(socket.SHUT_WR)
    except OSError:
        connection.close()
        raise
    return connection.detach()


def make_group(hierarchy: Hierarchy, name: str) -> int:
    """Makes a control group with its limits. @returns its open cgroup.procs file."""
    os.mkdir(name, dir_fd=hierarchy.directory)
    for file in hierarchy.files:
        try:
            write_control(hierarchy.directory, f"{name}/{file.name}", file.value)
        except FileNotFoundError:
            if not file.is_optional:
                raise
    return os.open(f"{name}/cgroup.procs", os.O_WRONLY | os.O_CLOEXEC, dir_fd=hierarchy.directory)


def remove_groups(name: str, hierarchies: tuple[Hierarchy, ...]) -> bool:
    """Removes a sandbox's control groups. Returns False if one cannot be removed yet. Muster then waits, and removes it."""
    try:
        for hierarchy in hierarchies:
            os.rmdir(name, dir_fd=hierarchy.directory)
    except OSError:
        return False
    return True


def open_groups(name: str, hierarchies: tuple[Hierarchy, ...]) -> list[int]:
    """Opens the cgroup.procs files of a sandbox's control groups again. @raises OSError and leaves none open."""
    descriptors: list[int] = []
    try:
        for hierarchy in hierarchies:
            descriptors.append(os.open(f"{name}/cgroup.procs", os.O_WRONLY | os.O_CLOEXEC, dir_fd=hierarchy.directory))
    except OSError:
        for descriptor in descriptors:
            os.close(descriptor)
        raise
    return descriptors


def write_control(directory: int, path: str, value: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC, dir_fd=directory)
    try:
        os.write(descriptor, value.encode())
    finally:
        os.close(descriptor)

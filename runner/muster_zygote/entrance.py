"""Opens the namespaces of a sandbox: the warden opens the files, and sends them to an image, which enters.

An image cannot open them itself, because the sandbox's first process has more privileges than the image.
"""

import os

from muster_zygote.linux import Namespace
from muster_zygote.settings import Settings
from muster_zygote.walls import PRIVATE_NAMESPACES

_NAMES = {
    Namespace.PID: "pid",
    Namespace.MOUNT: "mnt",
    Namespace.IPC: "ipc",
    Namespace.HOSTNAME: "uts",
    Namespace.NETWORK: "net",
    Namespace.USER: "user",
}


def list_namespaces(settings: Settings) -> tuple[Namespace, ...]:
    """Lists the namespaces of a sandbox in the order of entry. The user namespace is last: from inside it no other can be entered."""
    shared = Namespace.NETWORK if settings.host_network else Namespace(0)
    private = Namespace.PID | PRIVATE_NAMESPACES | Namespace.NETWORK | Namespace.USER
    return tuple(each for each in _NAMES if each in private & ~shared)


def open_entrance(pid: int, settings: Settings) -> list[int]:
    """Opens the namespaces. @param pid: the sandbox's first process. @returns their descriptors. @raises OSError and leaves none open."""
    descriptors: list[int] = []
    try:
        for namespace in list_namespaces(settings):
            descriptors.append(os.open(f"/proc/{pid}/ns/{_NAMES[namespace]}", os.O_RDONLY | os.O_CLOEXEC))
    except OSError:
        for descriptor in descriptors:
            os.close(descriptor)
        raise
    return descriptors

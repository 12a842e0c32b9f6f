"""The first process of a sandbox: it puts up the walls, then does nothing but keep them standing.

It is a child of the warden, which is small: namespaces cost little to a process that has little memory. The program is forked
elsewhere, from an image, and enters what stands here. When this process ends the kernel ends all others of its pid namespace.
"""

import contextlib
import os
import signal
import socket
import stat
from pathlib import PurePosixPath
from typing import NoReturn

from muster_zygote.linux import (
    Filter,
    MountFlag,
    Namespace,
    close_from,
    forbid_new_privileges,
    hide_memory,
    keep_one_capability,
    mount,
    raise_loopback,
    unmount,
    unshare,
)
from muster_zygote.settings import Settings

SITES = "/tmp/muster-sites"
INBOX = "/muster/inbox"
HOSTNAME = "sandbox"
# Does nothing for 68 years.
HOLDER = ("/bin/sleep", str(2**31 - 1))
# Shows of the processes those that the reader may trace: all of its sandbox but the first.
PROC_OPTIONS = "hidepid=4"
INODES_MIN = 64
PRIVATE_NAMESPACES = Namespace.MOUNT | Namespace.IPC | Namespace.HOSTNAME


class Walls:
    """What the walls of every sandbox have in common, worked out once."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._filter = Filter(settings.filter)

    def stand(self, sandbox: str, report: int) -> NoReturn:
        """Never returns. Tells once, on the descriptor `report`, that the walls stand, or why they do not.
        """
        try:
            self._build(sandbox)
            self._confine()
            os.write(report, f"{sandbox}\n".encode())
        except BaseException as error:
            os.write(report, f"{sandbox} {type(error).__name__}: {error}\n".encode()[:1024])
            os._exit(1)
        close_from(0)
        # All that it has to do from here on is to be there: what it knows, and two megabytes of its own, it need not keep.
        with contextlib.suppress(OSError):
            os.execve(HOLDER[0], HOLDER, {})
        while True:
            signal.pause()

    def _build(self, sandbox: str) -> None:
        """Within the warden's user namespace, which owns what is mounted here: from one of its own nothing could be mounted over it."""
        unshare(PRIVATE_NAMESPACES)
        mount(None, "/", None, MountFlag.RECURSIVE | MountFlag.PRIVATE)
        bind_read_only(str(PurePosixPath(SITES, sandbox, "inbox")), INBOX)
        unmount(SITES)
        sizes = self._settings
        writable = MountFlag.NO_SUID | MountFlag.NO_DEVICES
        within = [(target, os.open(target, os.O_PATH | os.O_CLOEXEC)) for target in sizes.mounts_within]
        for target, size in (("/tmp", sizes.tmp_bytes), ("/dev/shm", sizes.shm_bytes)):
            mount("tmpfs", target, "tmpfs", writable, f"size={size},nr_inodes={inodes(size)},mode=1777")
        for target, descriptor in within:
            mount_again(descriptor, target)
        mount("devpts", "/dev/pts", "devpts", MountFlag.NO_SUID | MountFlag.NO_EXEC, "newinstance,ptmxmode=0666,mode=620")
        if not self._settings.host_network:
            unshare(Namespace.NETWORK)
            raise_loopback()
        socket.sethostname(HOSTNAME)
        self._own_user_namespace()

    def _own_user_namespace(self) -> None:
        """Without it the sandboxes of one user would share the kernel's counts of processes, and root would be root to /proc/sys.

        /proc is read-only in the end, but the new namespace is described through it. So it is mounted twice, and the lower,
        writable one stays reachable by a descriptor until all is written.
        """
        flags = MountFlag.NO_SUID | MountFlag.NO_DEVICES | MountFlag.NO_EXEC
        mount("proc", "/proc", "proc", flags, PROC_OPTIONS)
        writable = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        mount("/proc", "/proc", None, MountFlag.BIND)
        mount(None, "/proc", None, MountFlag.REMOUNT | MountFlag.BIND | MountFlag.READ_ONLY | flags)
        outside_uid, outside_gid, inside = os.getuid(), os.getgid(), self._settings.uid
        unshare(Namespace.USER)
        _write(writable, "self/setgroups", "deny")
        _write(writable, "self/uid_map", f"{inside} {outside_uid} 1")
        _write(writable, "self/gid_map", f"{inside} {outside_gid} 1")
        _write(writable, "sys/user/max_user_namespaces", "0")
        os.close(writable)

    def _confine(self) -> None:
        """What the warden knows of other sandboxes, the orders among them that come next, is in this process's memory still."""
        hide_memory()
        signal.set_wakeup_fd(-1)
        # Orphans of the sandbox become children of this process: the kernel then buries them by itself.
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        os.setsid()
        keep_one_capability()
        forbid_new_privileges()
        self._filter.install()


def inodes(size: int) -> int:
    """How many files may be on a file system of this size. The size counts what is in them; each costs the kernel about a KiB besides."""
    return max(INODES_MIN, size // 1024)


def mount_again(descriptor: int, target: str) -> None:
    """Mounts what a descriptor has open, read-only as it was, where something else has been mounted over it. Closes the descriptor."""
    make_place(target, is_directory=stat.S_ISDIR(os.fstat(descriptor).st_mode))
    mount(f"/proc/self/fd/{descriptor}", target, None, MountFlag.BIND | MountFlag.RECURSIVE)
    os.close(descriptor)


def make_place(target: str, *, is_directory: bool) -> None:
    """Something to mount on."""
    os.makedirs(target if is_directory else str(PurePosixPath(target).parent), exist_ok=True)  # noqa: PTH103 -- as the rest of this file
    if not is_directory:
        os.close(os.open(target, os.O_CREAT | os.O_CLOEXEC, 0o444))


def bind_read_only(source: str, target: str) -> None:
    mount(source, target, None, MountFlag.BIND)
    flags = MountFlag.REMOUNT | MountFlag.BIND | MountFlag.READ_ONLY | MountFlag.NO_SUID | MountFlag.NO_DEVICES
    mount(None, target, None, flags)


def _write(directory: int, path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC, dir_fd=directory)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)

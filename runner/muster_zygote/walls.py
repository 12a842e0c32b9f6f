"""The first process of a sandbox: it puts up the walls, then does nothing but keep them standing.

It is a child of the warden, which is small: namespaces cost little to a process that has little memory. The program is forked
elsewhere, from an image, and enters what stands here. When this process ends the kernel ends all others of its pid namespace.

What it has to do the warden has written down before it is forked: a list of system calls.
"""

import contextlib
import os
import signal
import stat
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import NoReturn

from muster_zygote.holder import Holder
from muster_zygote.linux import (
    Call,
    MountFlag,
    Namespace,
    change_directory,
    forbid_new_privileges,
    hide_memory,
    ignore_signal,
    install_filter,
    keep_one_capability,
    make,
    mount,
    new_session,
    raise_loopback,
    set_host_name,
    tell,
    unmount,
    unshare,
    write_file,
)
from muster_zygote.settings import Settings

SITES = "/tmp/muster-sites"
INBOX = "/muster/inbox"
HOSTNAME = "sandbox"
# Shows of the processes those that the reader may trace: all of its sandbox but the first.
PROC_OPTIONS = "hidepid=4"
INODES_MIN = 64
PRIVATE_NAMESPACES = Namespace.MOUNT | Namespace.IPC | Namespace.HOSTNAME


class Walls:
    """The walls of every sandbox of a warden, which is their owner in its user namespace."""

    def __init__(self, settings: Settings, report: int) -> None:
        """To be made in the warden, whose mounts are then its own: what is mounted behind walls is seen there alone.

        @param report: descriptor on which each first process tells once that its walls stand, or why they do not.
        """
        self._settings = settings
        self._report = report
        self._rest = Holder().become()
        make(mount(None, "/", None, MountFlag.RECURSIVE | MountFlag.PRIVATE))
        self._before = tuple(self._namespaces())
        self._after = (*self._file_systems(), *self._network(), *self._own_user_namespace(), *self._confinement())

    def plan(self, sandbox: str) -> tuple[Call, ...]:
        """All that its first process has to do until the walls stand, and to tell that they do.

        Up to the new user namespace it is done within the warden's, which owns what is mounted here: from one of its own nothing could be
        mounted over it.
        """
        inbox = bind_read_only(str(PurePosixPath(SITES, sandbox, "inbox")), INBOX)
        return (*self._before, *inbox, unmount(SITES), *self._after, tell(self._report, f"{sandbox}\n"))

    def stand(self, sandbox: str, plan: tuple[Call, ...]) -> NoReturn:
        """Never returns."""
        try:
            make(*plan)
        except BaseException as error:
            os.write(self._report, f"{sandbox} {type(error).__name__}: {error}\n".encode()[:1024])
            os._exit(1)
        # All that it has to do from here on is to be there: what it knows, and two megabytes of its own, it need not keep.
        with contextlib.suppress(OSError):
            make(*self._rest)
        while True:
            signal.pause()

    def _namespaces(self) -> Iterator[Call]:
        yield unshare(PRIVATE_NAMESPACES if self._settings.host_network else PRIVATE_NAMESPACES | Namespace.NETWORK)

    def _file_systems(self) -> Iterator[Call]:
        settings = self._settings
        within = MountsWithin(settings.mounts_within)
        if settings.mounts_within:
            yield Call(within.open, (), "open what is mounted in /tmp and /dev/shm")
        writable = MountFlag.NO_SUID | MountFlag.NO_DEVICES
        for target, size in (("/tmp", settings.tmp_bytes), ("/dev/shm", settings.shm_bytes)):
            yield mount("tmpfs", target, "tmpfs", writable, f"size={size},nr_inodes={inodes(size)},mode=1777")
        if settings.mounts_within:
            yield Call(within.mount_again, (), "mount again what is in /tmp and /dev/shm")
        yield mount("devpts", "/dev/pts", "devpts", MountFlag.NO_SUID | MountFlag.NO_EXEC, "newinstance,ptmxmode=0666,mode=620")

    def _network(self) -> Iterator[Call]:
        if not self._settings.host_network:
            yield raise_loopback()
        yield set_host_name(HOSTNAME)

    def _own_user_namespace(self) -> Iterator[Call]:
        """Without it the sandboxes of one user would share the kernel's counts of processes, and root would be root to /proc/sys.

        /proc is read-only in the end, but the new namespace is described through it. So it is mounted twice, and this process stays in
        the lower, writable one until all is written.
        """
        flags = MountFlag.NO_SUID | MountFlag.NO_DEVICES | MountFlag.NO_EXEC
        inside = self._settings.uid
        yield mount("proc", "/proc", "proc", flags, PROC_OPTIONS)
        yield change_directory("/proc")
        yield mount("/proc", "/proc", None, MountFlag.BIND)
        yield mount(None, "/proc", None, MountFlag.REMOUNT | MountFlag.BIND | MountFlag.READ_ONLY | flags)
        yield unshare(Namespace.USER)
        yield write_file("self/setgroups", "deny")
        yield write_file("self/uid_map", f"{inside} {os.getuid()} 1")
        yield write_file("self/gid_map", f"{inside} {os.getgid()} 1")
        yield write_file("sys/user/max_user_namespaces", "0")
        yield change_directory("/")

    def _confinement(self) -> Iterator[Call]:
        # What the warden knows of other sandboxes, the orders among them that come next, is in this process's memory still.
        yield hide_memory()
        yield new_session()
        # Orphans of the sandbox become children of this process: the kernel then buries them by itself.
        yield ignore_signal(signal.SIGCHLD)
        yield from keep_one_capability()
        yield forbid_new_privileges()
        yield install_filter(self._settings.filter)


class MountsWithin:
    """The template's mounts that lie where something else is to be mounted over them."""

    def __init__(self, targets: tuple[str, ...]) -> None:
        self._targets = targets
        self._opened: list[tuple[str, int]] = []

    def open(self) -> int:
        """In the mount namespace in which they are mounted again. @raises OSError"""
        self._opened = [(target, os.open(target, os.O_PATH | os.O_CLOEXEC)) for target in self._targets]
        return 0

    def mount_again(self) -> int:
        """Read-only as they were. @raises OSError"""
        for target, descriptor in self._opened:
            make_place(target, is_directory=stat.S_ISDIR(os.fstat(descriptor).st_mode))
            make(mount(f"/proc/self/fd/{descriptor}", target, None, MountFlag.BIND | MountFlag.RECURSIVE))
        return 0


def inodes(size: int) -> int:
    """How many files may be on a file system of this size. The size counts what is in them; each costs the kernel about a KiB besides."""
    return max(INODES_MIN, size // 1024)


def make_place(target: str, *, is_directory: bool) -> None:
    """Something to mount on."""
    os.makedirs(target if is_directory else str(PurePosixPath(target).parent), exist_ok=True)  # noqa: PTH103 -- as the rest of this file
    if not is_directory:
        os.close(os.open(target, os.O_CREAT | os.O_CLOEXEC, 0o444))


def bind_read_only(source: str, target: str) -> tuple[Call, Call]:
    flags = MountFlag.REMOUNT | MountFlag.BIND | MountFlag.READ_ONLY | MountFlag.NO_SUID | MountFlag.NO_DEVICES
    return mount(source, target, None, MountFlag.BIND), mount(None, target, None, flags)

"""Isolates a sandbox: its first process builds the *walls*, namespaces and mounts, and then only keeps them alive.

The first process is a child of the warden. The program is forked from an image, and enters these namespaces. When the first process ends,
the kernel ends all other processes of its pid namespace.

The warden prepares the first process's work once for all sandboxes: a list of system calls.
"""

import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from muster_zygote.first_process import SERIALS, FirstProcesses
from muster_zygote.linux import (
    Argument,
    Call,
    MountFlag,
    Namespace,
    change_directory,
    close_file,
    close_others,
    enter,
    ignore_signal,
    make,
    make_directory,
    mount,
    name_process,
    new_session,
    open_file,
    raise_loopback,
    set_host_name,
    unmount,
    unshare,
    write_file,
)
from muster_zygote.native_program import REPORT
from muster_zygote.privileges import become_user, drop_capabilities, forbid_new_privileges, hide_memory, keep_one_capability, leave_groups
from muster_zygote.seccomp import install_filter
from muster_zygote.settings import Settings

TMP, SHM = "/tmp", "/dev/shm"
SITES = "/tmp/muster-sites"
INBOX = "/muster/inbox"
HOSTNAME = "sandbox"
# The name in the process table.
NAME = "muster-walls"
# Hides the processes that the reader may not trace: in its sandbox, the first one alone. The first process of a workspace has to see all.
PROC_OPTIONS = "hidepid=4"
INODES_MIN = 64
PRIVATE_NAMESPACES = Namespace.MOUNT | Namespace.IPC | Namespace.HOSTNAME
# The first process's lowest free descriptor. It reports on the one below.
FREE = REPORT + 1


class WallBuilder:
    """Starts the first process of each sandbox, and reads whether it could build the walls. The warden has one."""

    def __init__(self, settings: Settings) -> None:
        """Gives the warden mounts of its own, so that only sandboxes see what is mounted in them."""
        self._new_processes = unshare(Namespace.PID)
        self._own_processes = enter(os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC), Namespace.PID)
        make(mount(None, "/", None, MountFlag.RECURSIVE | MountFlag.PRIVATE))
        self._first_processes = FirstProcesses(tuple(plan_walls(settings)))
        self._names: dict[int, str] = {}
        self._last_serial = 0

    @property
    def descriptor(self) -> int:
        """Becomes readable when a first process has reported."""
        return self._first_processes.descriptor

    def start(self, sandbox: str) -> tuple[int, int]:
        """Starts the first process in a new pid namespace. @returns its process id and its serial number. @raises OSError"""
        self._last_serial = (self._last_serial + 1) % SERIALS
        make(self._new_processes)
        try:
            pid = self._first_processes.start(self._last_serial, locate_inbox(sandbox))
        finally:
            make(self._own_processes)
        self._names[self._last_serial] = sandbox
        return pid, self._last_serial

    def read_reports(self) -> list[tuple[str, str | None]]:
        """Returns the sandboxes that have reported since the last call, each with its problem or None."""
        return [(self._names[each.serial], each.problem) for each in self._first_processes.reports() if each.serial in self._names]

    def forget(self, serial: int) -> None:
        """Forgets a sandbox that has ended."""
        del self._names[serial]


def locate_inbox(sandbox: str) -> str:
    """Returns the directory of the inbox, as the warden sees it."""
    return str(PurePosixPath(SITES, sandbox, "inbox"))


def plan_walls(settings: Settings) -> Iterator[Call]:
    """Yields all calls of a first process, until the walls are built.

    The calls before the new user namespace are made in the warden's, which owns the mounts. From the new
    one, no process can mount over them.
    """
    if settings.writable is None:
        yield close_others(FREE)
    yield name_process(NAME)
    yield unshare(PRIVATE_NAMESPACES if settings.host_network else PRIVATE_NAMESPACES | Namespace.NETWORK)
    yield from bind_read_only(Argument(1), INBOX)
    yield unmount(SITES)
    yield from _file_systems(settings)
    if not settings.host_network:
        yield from raise_loopback(FREE)
    yield set_host_name(HOSTNAME)
    yield from _enter_own_user_namespace(settings)
    yield from _confine(settings)


def _file_systems(settings: Settings) -> Iterator[Call]:
    within = MountsWithin(settings.mounts_within)
    yield from within.open_mounts()
    writable = MountFlag.NO_SUID | MountFlag.NO_DEVICES
    own = ((target, settings.tmp_bytes) for target in settings.writable or ())
    for target, size in ((TMP, settings.tmp_bytes), (SHM, settings.shm_bytes), *own):
        yield mount("tmpfs", target, "tmpfs", writable, f"size={size},nr_inodes={count_inodes(size)},mode=1777")
    yield from within.mount_again()
    yield mount("devpts", "/dev/pts", "devpts", MountFlag.NO_SUID | MountFlag.NO_EXEC, "newinstance,ptmxmode=0666,mode=620")


def _enter_own_user_namespace(settings: Settings) -> Iterator[Call]:
    """Yields the calls that enter a user namespace. Without it, the sandboxes of one user would share the kernel's counts of processes, and
    root could write to /proc/sys.

    /proc is read-only in the end, but the new namespace is set up through it. So /proc is mounted twice, and this process stays in the
    lower, writable mount until everything is written.
    """
    flags = MountFlag.NO_SUID | MountFlag.NO_DEVICES | MountFlag.NO_EXEC
    inside = settings.uid
    user, group = (inside, inside) if settings.own_user else (os.getuid(), os.getgid())
    yield mount("proc", "/proc", "proc", flags, PROC_OPTIONS if settings.writable is None else "")
    yield change_directory("/proc")
    yield mount("/proc", "/proc", None, MountFlag.BIND)
    yield mount(None, "/proc", None, MountFlag.REMOUNT | MountFlag.BIND | MountFlag.READ_ONLY | flags)
    if settings.own_user:
        # The namespace belongs to the user that makes it, and only that user may map itself.
        yield leave_groups()
        yield from become_user(inside)
    yield unshare(Namespace.USER)
    yield from write_file("self/setgroups", "deny", FREE)
    yield from write_file("self/uid_map", f"{inside} {user} 1", FREE)
    yield from write_file("self/gid_map", f"{inside} {group} 1", FREE)
    yield from write_file("sys/user/max_user_namespaces", "0", FREE)
    yield change_directory("/")


def _confine(settings: Settings) -> Iterator[Call]:
    # A fork of the warden has data of other sandboxes in its memory.
    yield hide_memory()
    yield new_session()
    if settings.writable is None:
        # Orphans of the sandbox become children of this process. If it ignores the signal, the kernel reaps them.
        yield ignore_signal(signal.SIGCHLD)
        yield from keep_one_capability()
    else:
        yield from drop_capabilities()
    yield forbid_new_privileges()
    yield install_filter(settings.filter)


class MountsWithin:
    """The template's mounts that lie inside of /tmp or /dev/shm, over which file systems are mounted."""

    def __init__(self, targets: tuple[str, ...]) -> None:
        self._targets = targets

    def open_mounts(self) -> Iterator[Call]:
        """Yields the calls that open the mounts, in the mount namespace in which they are mounted again."""
        for target in self._targets:
            yield open_file(target, os.O_PATH)

    def mount_again(self) -> Iterator[Call]:
        """Yields the calls that mount them again, read-only as before."""
        for directory in self._list_missing_directories():
            yield make_directory(directory)
        for descriptor, target in enumerate(self._targets, FREE):
            if not stat.S_ISDIR(Path(target).stat().st_mode) and not self._is_in_another(target):
                yield open_file(target, os.O_CREAT, 0o444)
                yield close_file(FREE + len(self._targets))
            yield mount(f"/proc/self/fd/{descriptor}", target, None, MountFlag.BIND | MountFlag.RECURSIVE)
        for descriptor, _target in enumerate(self._targets, FREE):
            yield close_file(descriptor)

    def _list_missing_directories(self) -> list[str]:
        """Lists the directories that mount points need, each after its parent. Those inside of another mount come with it."""
        found: dict[str, None] = {}
        for target in self._targets:
            if self._is_in_another(target):
                continue
            place = PurePosixPath(target)
            ways = [*reversed(place.parents), *([place] if Path(target).is_dir() else [])]
            found.update((str(way), None) for way in ways if any(root in map(str, way.parents) for root in (TMP, SHM)))
        return list(found)

    def _is_in_another(self, target: str) -> bool:
        return any(str(parent) in self._targets for parent in PurePosixPath(target).parents)


def count_inodes(size: int) -> int:
    """Returns the number of files that a file system of this size may have. The size counts contents; each file costs the kernel about a
    KiB more.
    """
    return max(INODES_MIN, size // 1024)


def bind_read_only(source: str | Argument, target: str) -> tuple[Call, Call]:
    flags = MountFlag.REMOUNT | MountFlag.BIND | MountFlag.READ_ONLY | MountFlag.NO_SUID | MountFlag.NO_DEVICES
    return mount(source, target, None, MountFlag.BIND), mount(None, target, None, flags)

"""System calls that Python has no functions for.

Those that a forked process makes are prepared by the one that it is forked from. A process has a copy of its own of every page that it
writes on, and running Python writes on many: names, counts of references. So the calls and their arguments are prepared before the
fork, once where it is the same for all; a child only goes through the list.

The file is long because it is a list, too: a function for each call.
"""

import ctypes
import os
import resource
import struct
from collections.abc import Callable
from enum import IntFlag
from pathlib import Path
from typing import Any, NamedTuple

# PyDLL holds the interpreter's lock: these calls change the process as a whole and return at once.
libc = ctypes.PyDLL(None, use_errno=True)
# Argument types that differ from int: pointers and 64-bit values, which int would truncate.
libc.mount.argtypes = (ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p)
libc.signal.argtypes, libc.signal.restype = (ctypes.c_int, ctypes.c_ssize_t), ctypes.c_ssize_t


class Namespace(IntFlag):
    """The CLONE_NEW… flags of clone(2)."""

    MOUNT = 0x0002_0000
    CGROUP = 0x0200_0000
    HOSTNAME = 0x0400_0000
    IPC = 0x0800_0000
    USER = 0x1000_0000
    PID = 0x2000_0000
    NETWORK = 0x4000_0000


class MountFlag(IntFlag):
    """The MS_… flags of mount(2)."""

    READ_ONLY = 1
    NO_SUID = 2
    NO_DEVICES = 4
    NO_EXEC = 8
    REMOUNT = 32
    BIND = 4096
    RECURSIVE = 16384
    PRIVATE = 1 << 18


_MNT_DETACH = 2
_PR_SET_DUMPABLE = 4
_PR_SET_KEEPCAPS = 8
_PR_SET_NAME = 15
_PR_CAPBSET_DROP = 24
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_RAISE = 2
_PR_CAP_AMBIENT_CLEAR_ALL = 4
# The header of capset(2): the version, and this process; then effective, permitted and inheritable ones, twice 32 bits each.
_OWN_CAPABILITIES, _NONE = struct.pack("Ii", 0x2008_0522, 0), bytes(24)
_CAP_SYS_CHROOT, _CAP_SYS_ADMIN, _CAP_WAKE_ALARM = 18, 21, 35
_AF_INET, _SOCK_DGRAM = 2, 2
_SIOCSIFFLAGS = 0x8914
_IFF_UP_AND_RUNNING = 0x41
_SIG_IGN = 1
_HIGHEST_DESCRIPTOR = 0xFFFF_FFFF


class Argument(NamedTuple):
    """Stands for something that is not known yet: the word at this position of those that a program is started with."""

    position: int


class Call(NamedTuple):
    """A system call that is yet to be made. It answers with a negative number when it fails."""

    function: Callable[..., Any]
    """Numbers, bytes for pointers, and the like; an Argument where it is not for `make`."""
    arguments: tuple[Any, ...]
    what: str


def make(*calls: Call) -> None:
    """One after the other. @raises OSError for the first that fails; those behind it are not made."""
    for function, arguments, what in calls:
        if function(*arguments) < 0:
            code = ctypes.get_errno()
            raise OSError(code, f"{what}: {os.strerror(code)}")


def fork() -> int:
    """Like os.fork, but without the hooks of Python's modules, because the child soon becomes another program.

    The hooks would take most of the child's time and memory.
    """
    pid: int = libc.fork()
    if pid < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"fork: {os.strerror(code)}")
    return pid


def unshare(namespaces: Namespace) -> Call:
    return Call(libc.unshare, (int(namespaces),), f"unshare {namespaces.name}")


def enter(descriptor: int, namespace: Namespace) -> Call:
    return Call(libc.setns, (descriptor, int(namespace)), f"setns {namespace.name}")


def mount(source: str | Argument | None, target: str, kind: str | None, flags: MountFlag, options: str = "") -> Call:
    place = source if isinstance(source, Argument) else _encode_text(source)
    return Call(libc.mount, (place, _encode_text(target), _encode_text(kind), int(flags), _encode_text(options)), f"mount {target}")


def unmount(target: str) -> Call:
    """Detaches it at once, even while it is in use."""
    return Call(libc.umount2, (_encode_text(target), _MNT_DETACH), f"umount {target}")


def _encode_text(value: str | None) -> bytes | None:
    return None if value is None else os.fsencode(value)


def change_directory(path: str) -> Call:
    return Call(libc.chdir, (os.fsencode(path),), f"chdir {path}")


def open_file(path: str, flags: int, mode: int = 0) -> Call:
    """The file gets the lowest free descriptor, which the calls that follow have to know."""
    return Call(libc.open, (os.fsencode(path), flags | os.O_CLOEXEC, mode), f"open {path}")


def close_file(descriptor: int) -> Call:
    return Call(libc.close, (descriptor,), f"close {descriptor}")


def make_directory(path: str) -> Call:
    return Call(libc.mkdir, (os.fsencode(path), 0o755), f"mkdir {path}")


def close_from(lowest: int) -> None:
    """Closes every descriptor from `lowest` on, known or not."""
    os.closerange(lowest, resource.getrlimit(resource.RLIMIT_NOFILE)[1])


def close_others(lowest: int) -> Call:
    """The same, as a call."""
    return Call(close_range, (lowest, _HIGHEST_DESCRIPTOR, 0), "close")


def close_range(lowest: int, _highest: int, _flags: int) -> int:
    """As the C library has it, where it has it."""
    close_from(lowest)
    return 0


def write_file(path: str, text: str, free: int) -> tuple[Call, ...]:
    """@param path: where it is relative, it is so to where the process is when it makes the calls.

    @param free: the lowest descriptor that is free then.
    """
    content = text.encode()
    return (open_file(path, os.O_WRONLY), Call(libc.write, (free, content, len(content)), f"write {path}"), close_file(free))


def set_host_name(name: str) -> Call:
    content = name.encode()
    return Call(libc.sethostname, (content, len(content)), "sethostname")


def raise_loopback(free: int) -> tuple[Call, ...]:
    """@param free: the lowest descriptor that is free when the calls are made."""
    request = struct.pack("16sh22x", b"lo", _IFF_UP_AND_RUNNING)
    what = "raise lo"
    return (Call(libc.socket, (_AF_INET, _SOCK_DGRAM, 0), what), Call(libc.ioctl, (free, _SIOCSIFFLAGS, request), what), close_file(free))


def ignore_signal(number: int) -> Call:
    return Call(libc.signal, (int(number), _SIG_IGN), f"ignore signal {int(number)}")


def new_session() -> Call:
    return Call(libc.setsid, (), "setsid")


def leave_groups() -> Call:
    """Must be called before the user changes, because it takes a privilege."""
    return Call(libc.setgroups, (0, None), "setgroups")


def become_user(number: int) -> tuple[Call, ...]:
    """The user and the group of this number. The process stays one that its user may look into, as it was."""
    return (
        Call(libc.setresgid, (number, number, number), "setresgid"),
        Call(libc.setresuid, (number, number, number), "setresuid"),
        Call(libc.prctl, (_PR_SET_DUMPABLE, 1, 0, 0, 0), "PR_SET_DUMPABLE"),
    )


def keep_capabilities() -> Call:
    """Keeps the capabilities when root becomes another user."""
    return Call(libc.prctl, (_PR_SET_KEEPCAPS, 1, 0, 0, 0), "PR_SET_KEEPCAPS")


def keep_capabilities_to_enter() -> Call:
    """All others than the two that entering a namespace takes are gone."""
    kept = 1 << _CAP_SYS_ADMIN | 1 << _CAP_SYS_CHROOT
    return Call(libc.capset, (_OWN_CAPABILITIES, struct.pack("3I", kept, kept, 0) + bytes(12)), "capset")


def hand_down_capabilities_to_enter(other_user: tuple[Call, ...]) -> tuple[Call, ...]:
    """Hands these two down to a program that is executed next. It has them as any user, and can gain no others."""
    kept = (_CAP_SYS_CHROOT, _CAP_SYS_ADMIN)
    bits = sum(1 << each for each in kept)
    others = (each for each in range(read_last_capability() + 1) if each not in kept)
    return (
        *(Call(libc.prctl, (_PR_CAPBSET_DROP, each, 0, 0, 0), "drop a capability") for each in others),
        *other_user,
        Call(libc.capset, (_OWN_CAPABILITIES, struct.pack("3I", bits, bits, bits) + bytes(12)), "capset"),
        *(Call(libc.prctl, (_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, each, 0, 0), "keep a capability") for each in kept),
    )


def read_last_capability() -> int:
    """The highest that the kernel knows."""
    return int(Path("/proc/sys/kernel/cap_last_cap").read_text())


def drop_capabilities() -> tuple[Call, ...]:
    """All of them, for good: out of the bounding set, so that no program can bring them back."""
    bounding = (Call(libc.prctl, (_PR_CAPBSET_DROP, each, 0, 0, 0), "drop a capability") for each in range(read_last_capability() + 1))
    ambient = Call(libc.prctl, (_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0), "clear the ambient capabilities")
    return (*bounding, ambient, Call(libc.capset, (_OWN_CAPABILITIES, _NONE), "capset"))


def keep_one_capability() -> tuple[Call, ...]:
    """All others are gone, and this one stays with whatever this process executes: CAP_WAKE_ALARM, good for nothing in a user namespace.

    A process without capabilities may not trace a process that has one (ptrace(2)).
    """
    word, bit = divmod(_CAP_WAKE_ALARM, 32)
    halves = struct.pack("3I", *(1 << bit,) * 3), bytes(12)
    return (
        Call(libc.capset, (_OWN_CAPABILITIES, halves[word] + halves[1 - word]), "capset"),
        Call(libc.prctl, (_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, _CAP_WAKE_ALARM, 0, 0), "keep a capability"),
    )


def forbid_new_privileges() -> Call:
    return Call(libc.prctl, (_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")


def hide_memory() -> Call:
    """Keeps processes without privileges, of the same user too, from looking into this one."""
    return Call(libc.prctl, (_PR_SET_DUMPABLE, 0, 0, 0, 0), "PR_SET_DUMPABLE")


def name_process(name: str) -> Call:
    """Sets the name in the process table, of at most fifteen bytes."""
    return Call(libc.prctl, (_PR_SET_NAME, name.encode(), 0, 0, 0), "PR_SET_NAME")


def flush_c_streams() -> Call:
    """Flushes the streams of the C library, which Python does not flush."""
    return Call(libc.fflush, (None,), "fflush")

"""System calls that Python has no functions for.

A process prepares the calls of its children before it forks them. A child gets its own copy of each page that it writes to, and running
Python writes to many. So calls and arguments are built before the fork, once if they are the same for all children, and a child only makes
the calls.
"""

import ctypes
import os
import resource
import struct
from collections.abc import Callable
from enum import IntFlag
from typing import Any, NamedTuple

# PyDLL keeps the interpreter's lock: these calls change the whole process, and return at once.
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
_PR_SET_NAME = 15
_AF_INET, _SOCK_DGRAM = 2, 2
_SIOCSIFFLAGS = 0x8914
_IFF_UP_AND_RUNNING = 0x41
_SIG_IGN = 1
_HIGHEST_DESCRIPTOR = 0xFFFF_FFFF


class Argument(NamedTuple):
    """A value that is known only when a program starts: the argument at this position of its command line."""

    position: int


class Call(NamedTuple):
    """A system call to make later. It returns a negative number when it fails."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    """Numbers, and bytes for pointers. Calls for `make` contain no Argument."""
    what: str


def make(*calls: Call) -> None:
    """Makes the calls in order. @raises OSError for the first that fails; the calls after it are not made."""
    for function, arguments, what in calls:
        if function(*arguments) < 0:
            code = ctypes.get_errno()
            raise OSError(code, f"{what}: {os.strerror(code)}")


def fork() -> int:
    """Forks as os.fork does, but without the hooks of Python's modules, because the child soon becomes another program.

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
    """Detaches a mount at once, even while it is in use."""
    return Call(libc.umount2, (_encode_text(target), _MNT_DETACH), f"umount {target}")


def _encode_text(value: str | None) -> bytes | None:
    return None if value is None else os.fsencode(value)


def change_directory(path: str) -> Call:
    return Call(libc.chdir, (os.fsencode(path),), f"chdir {path}")


def open_file(path: str, flags: int, mode: int = 0) -> Call:
    """Opens a file with the lowest free descriptor. The calls that follow rely on that."""
    return Call(libc.open, (os.fsencode(path), flags | os.O_CLOEXEC, mode), f"open {path}")


def close_file(descriptor: int) -> Call:
    return Call(libc.close, (descriptor,), f"close {descriptor}")


def make_directory(path: str) -> Call:
    return Call(libc.mkdir, (os.fsencode(path), 0o755), f"mkdir {path}")


def close_from(lowest: int) -> None:
    """Closes every descriptor from `lowest` on, known or not."""
    os.closerange(lowest, resource.getrlimit(resource.RLIMIT_NOFILE)[1])


def close_others(lowest: int) -> Call:
    """Does what `close_from` does, as a call."""
    return Call(close_range, (lowest, _HIGHEST_DESCRIPTOR, 0), "close")


def close_range(lowest: int, _highest: int, _flags: int) -> int:
    """Stands in for the C library's function, which older versions lack."""
    close_from(lowest)
    return 0


def write_file(path: str, text: str, free: int) -> tuple[Call, ...]:
    """Writes a file. @param path: a relative path starts at the directory that the process has when it makes the calls.

    @param free: the lowest descriptor that is free then.
    """
    content = text.encode()
    return (open_file(path, os.O_WRONLY), Call(libc.write, (free, content, len(content)), f"write {path}"), close_file(free))


def set_host_name(name: str) -> Call:
    content = name.encode()
    return Call(libc.sethostname, (content, len(content)), "sethostname")


def raise_loopback(free: int) -> tuple[Call, ...]:
    """Starts the loopback interface. @param free: the lowest descriptor that is free when the calls are made."""
    request = struct.pack("16sh22x", b"lo", _IFF_UP_AND_RUNNING)
    what = "raise lo"
    return (Call(libc.socket, (_AF_INET, _SOCK_DGRAM, 0), what), Call(libc.ioctl, (free, _SIOCSIFFLAGS, request), what), close_file(free))


def ignore_signal(number: int) -> Call:
    return Call(libc.signal, (int(number), _SIG_IGN), f"ignore signal {int(number)}")


def new_session() -> Call:
    return Call(libc.setsid, (), "setsid")


def name_process(name: str) -> Call:
    """Sets the name in the process table, which has at most fifteen bytes."""
    return Call(libc.prctl, (_PR_SET_NAME, name.encode(), 0, 0, 0), "PR_SET_NAME")


def flush_c_streams() -> Call:
    """Flushes the streams of the C library, which Python does not flush."""
    return Call(libc.fflush, (None,), "fflush")

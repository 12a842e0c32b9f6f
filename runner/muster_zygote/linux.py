"""System calls that Python has no functions for.

Those that a forked process makes are prepared by the one that it is forked from. A process has a copy of its own of every page that it
writes on, and running Python writes on many: names, counts of references. So what is to be called, with what, is worked out before the
fork, once where it is the same for all; a child only goes through the list.
"""

import ctypes
import os
import resource
import struct
from collections.abc import Callable
from enum import IntEnum, IntFlag
from pathlib import Path
from typing import Any, NamedTuple

# PyDLL holds the interpreter's lock: these calls change the process as a whole and return at once.
_libc = ctypes.PyDLL(None, use_errno=True)
# Those that are looked up by name in a child cost it twenty pages each.
_open, _write, _close, _socket, _ioctl, _signal = (getattr(_libc, name) for name in ("open", "write", "close", "socket", "ioctl", "signal"))
# It answers with what was done at the signal before: a pointer.
_signal.restype = ctypes.c_ssize_t


class Advice(IntEnum):
    """The MADV_… values of madvise(2)."""

    HUGE_PAGES = 14
    # Since Linux 6.1.
    COLLAPSE = 25


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
_PR_CAPBSET_DROP = 24
_PR_SET_SECCOMP = 22
_SECCOMP_MODE_FILTER = 2
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_RAISE = 2
_PR_CAP_AMBIENT_CLEAR_ALL = 4
# The header of capset(2): the version, and this process; then effective, permitted and inheritable ones, twice 32 bits each.
_OWN_CAPABILITIES, _NONE = struct.pack("Ii", 0x2008_0522, 0), bytes(24)
_CAP_WAKE_ALARM = 35
_AF_INET, _SOCK_DGRAM = 2, 2
_SIOCSIFFLAGS = 0x8914
_IFF_UP_AND_RUNNING = 0x41


class Call(NamedTuple):
    """A system call that is yet to be made. It answers with a negative number when it fails."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    what: str


def make(*calls: Call) -> None:
    """One after the other. @raises OSError for the first that fails; those behind it are not made."""
    for function, arguments, what in calls:
        if function(*arguments) < 0:
            code = ctypes.get_errno()
            raise OSError(code, f"{what}: {os.strerror(code)}")


def fork() -> int:
    """As os.fork, but nothing of what Python's modules do in a child is done in it: it is to become another program, and soon.

    That would be the larger part of its work, and of its memory.
    """
    pid: int = _libc.fork()
    if pid < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"fork: {os.strerror(code)}")
    return pid


def unshare(namespaces: Namespace) -> Call:
    return Call(_libc.unshare, (int(namespaces),), f"unshare {namespaces.name}")


def enter(descriptor: int, namespaces: Namespace) -> Call:
    """@param descriptor: of a process (pidfd) or of a namespace."""
    return Call(_libc.setns, (descriptor, int(namespaces)), f"setns {namespaces.name}")


def mount(source: str | None, target: str, kind: str | None, flags: MountFlag, options: str = "") -> Call:
    arguments = (_text(source), _text(target), _text(kind), ctypes.c_ulong(int(flags)), _text(options))
    return Call(_libc.mount, arguments, f"mount {target}")


def unmount(target: str) -> Call:
    """Takes it out of sight at once, whoever still uses it."""
    return Call(_libc.umount2, (_text(target), _MNT_DETACH), f"umount {target}")


def _text(value: str | None) -> bytes | None:
    return None if value is None else os.fsencode(value)


def change_directory(path: str) -> Call:
    return Call(_libc.chdir, (os.fsencode(path),), f"chdir {path}")


def write_file(path: str, text: str) -> Call:
    """@param path: where it is relative, it is so to where the process is when it makes the call."""
    content = text.encode()
    return Call(_write_file, (os.fsencode(path), content, len(content)), f"write {path}")


def _write_file(path: bytes, content: bytes, length: int) -> int:
    descriptor: int = _open(path, os.O_WRONLY | os.O_CLOEXEC)
    if descriptor < 0:
        return descriptor
    written: int = _write(descriptor, content, length)
    _close(descriptor)
    return written


def set_host_name(name: str) -> Call:
    content = name.encode()
    return Call(_libc.sethostname, (content, len(content)), "sethostname")


def raise_loopback() -> Call:
    return Call(_set_flags_of_interface, (ctypes.create_string_buffer(struct.pack("16sh22x", b"lo", _IFF_UP_AND_RUNNING)),), "raise lo")


def _set_flags_of_interface(request: Any) -> int:
    descriptor: int = _socket(_AF_INET, _SOCK_DGRAM, 0)
    if descriptor < 0:
        return descriptor
    result: int = _ioctl(descriptor, _SIOCSIFFLAGS, request)
    _close(descriptor)
    return result


def ignore_signal(number: int) -> Call:
    return Call(_ignore_signal, (int(number),), f"ignore signal {int(number)}")


def _ignore_signal(number: int) -> int:
    sig_ign = 1
    return -1 if _signal(number, sig_ign) == -1 else 0


def new_session() -> Call:
    return Call(_libc.setsid, (), "setsid")


def last_capability() -> int:
    """The highest that the kernel knows."""
    return int(Path("/proc/sys/kernel/cap_last_cap").read_text())


def drop_capabilities() -> tuple[Call, ...]:
    """All of them, for good: out of the bounding set, so that no program can bring them back."""
    bounding = (Call(_libc.prctl, (_PR_CAPBSET_DROP, each, 0, 0, 0), "drop a capability") for each in range(last_capability() + 1))
    ambient = Call(_libc.prctl, (_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0), "clear the ambient capabilities")
    return (*bounding, ambient, Call(_libc.capset, (_OWN_CAPABILITIES, _NONE), "capset"))


def keep_one_capability() -> tuple[Call, ...]:
    """All others are gone, and this one stays with whatever this process executes: CAP_WAKE_ALARM, good for nothing in a user namespace.

    Who has no capability may not look into a process that has one (ptrace(2)).
    """
    word, bit = divmod(_CAP_WAKE_ALARM, 32)
    halves = struct.pack("3I", *(1 << bit,) * 3), bytes(12)
    return (
        Call(_libc.capset, (_OWN_CAPABILITIES, halves[word] + halves[1 - word]), "capset"),
        Call(_libc.prctl, (_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, _CAP_WAKE_ALARM, 0, 0), "keep a capability"),
    )


def forbid_new_privileges() -> Call:
    return Call(_libc.prctl, (_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")


def hide_memory() -> Call:
    """Keeps processes without privileges, of the same user too, from looking into this one."""
    return Call(_libc.prctl, (_PR_SET_DUMPABLE, 0, 0, 0, 0), "PR_SET_DUMPABLE")


def install_filter(program: bytes) -> Call:
    """A seccomp filter. @param program: instructions of struct sock_filter, eight bytes each."""
    instructions = ctypes.create_string_buffer(program, len(program))
    # struct sock_fprog: the number of instructions, and where they are.
    described = _Program(ctypes.c_ushort(len(program) // 8), ctypes.cast(instructions, ctypes.c_void_p))
    # It does not own what it points at.
    described.instructions_kept = instructions
    return Call(_libc.prctl, (_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(described), 0, 0), "seccomp")


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))
    instructions_kept: Any


def flush_c_streams() -> Call:
    """Those of the C library, which Python's own know nothing of."""
    return Call(_libc.fflush, (None,), "fflush")


def advise(start: int, length: int, advice: Advice) -> bool:
    """@returns whether the kernel has taken it."""
    return int(_libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(length), int(advice))) == 0


def close_from(lowest: int) -> None:
    """Closes every descriptor from `lowest` on, known or not."""
    os.closerange(lowest, resource.getrlimit(resource.RLIMIT_NOFILE)[1])


def close_all_but(*kept: int) -> tuple[Call, ...]:
    """Every descriptor, known or not."""
    bounds = zip((-1, *sorted(kept)), (*sorted(kept), resource.getrlimit(resource.RLIMIT_NOFILE)[1]), strict=True)
    return tuple(Call(_close_between, (below + 1, above), "close") for below, above in bounds)


def _close_between(lowest: int, beyond: int) -> int:
    os.closerange(lowest, beyond)
    return 0


def execute(program: str | int, words: tuple[str, ...]) -> Call:
    """In place of what this process runs, without any environment variables. @param program: a path, or the descriptor of an open file."""
    argv = (ctypes.c_char_p * (len(words) + 1))(*map(os.fsencode, words))
    nothing = (ctypes.c_char_p * 1)()
    if isinstance(program, int):
        return Call(_libc.fexecve, (program, argv, nothing), "execute")
    return Call(_libc.execve, (os.fsencode(program), argv, nothing), f"execute {program}")


def tell(descriptor: int, text: str) -> Call:
    content = text.encode()
    return Call(_write, (descriptor, content, len(content)), "tell")

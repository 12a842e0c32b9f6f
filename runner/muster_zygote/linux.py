"""System calls that Python has no functions for."""

import ctypes
import fcntl
import os
import resource
import socket
import struct
from enum import IntEnum, IntFlag
from pathlib import Path

# PyDLL holds the interpreter's lock: these calls change the process as a whole and return at once.
_libc = ctypes.PyDLL(None, use_errno=True)


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
_SIOCSIFFLAGS = 0x8914
_IFF_UP_AND_RUNNING = 0x41


def _checked(result: int, *what: object) -> None:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{' '.join(map(str, what))}: {os.strerror(code)}")


def unshare(namespaces: Namespace) -> None:
    _checked(_libc.unshare(int(namespaces)), "unshare", namespaces)


def enter(descriptor: int, namespaces: Namespace) -> None:
    """@param descriptor: of a process (pidfd) or of a namespace."""
    _checked(_libc.setns(descriptor, int(namespaces)), "setns", namespaces)


def mount(source: str | None, target: str, kind: str | None, flags: MountFlag, options: str = "") -> None:
    arguments = (_text(source), _text(target), _text(kind), ctypes.c_ulong(int(flags)), _text(options))
    _checked(_libc.mount(*arguments), "mount", target)


def unmount(target: str) -> None:
    """Takes it out of sight at once, whoever still uses it."""
    _checked(_libc.umount2(_text(target), _MNT_DETACH), "umount", target)


def _text(value: str | None) -> bytes | None:
    return None if value is None else os.fsencode(value)


def raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", _IFF_UP_AND_RUNNING))


def last_capability() -> int:
    return int(Path("/proc/sys/kernel/cap_last_cap").read_text())


def drop_capabilities(last: int) -> None:
    """All of them, for good: out of the bounding set, so that no program can bring them back.

    @param last: the highest capability that the kernel knows.
    """
    prctl = _libc.prctl
    for capability in range(last + 1):
        _checked(prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0), "drop a capability")
    _checked(prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0), "clear the ambient capabilities")
    _checked(_libc.capset(_OWN_CAPABILITIES, _NONE), "capset")


def keep_one_capability() -> None:
    """All others are gone, and this one stays with whatever this process executes: CAP_WAKE_ALARM, good for nothing in a user namespace.

    Who has no capability may not look into a process that has one (ptrace(2)).
    """
    word, bit = divmod(_CAP_WAKE_ALARM, 32)
    halves = struct.pack("3I", *(1 << bit,) * 3), bytes(12)
    _checked(_libc.capset(_OWN_CAPABILITIES, halves[word] + halves[1 - word]), "capset")
    _checked(_libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, _CAP_WAKE_ALARM, 0, 0), "keep a capability")


def forbid_new_privileges() -> None:
    _checked(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")


def hide_memory() -> None:
    """Keeps processes without privileges, of the same user too, from looking into this one."""
    _checked(_libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0), "PR_SET_DUMPABLE")


class Filter:
    """A seccomp filter, laid out for the kernel once, installed in many processes."""

    def __init__(self, program: bytes) -> None:
        """@param program: instructions of struct sock_filter, eight bytes each."""
        self._instructions = ctypes.create_string_buffer(program, len(program))
        pointer = ctypes.addressof(self._instructions)
        # struct sock_fprog: the number of instructions, and where they are.
        self._program = ctypes.create_string_buffer(struct.pack("@HP", len(program) // 8, pointer))

    def install(self) -> None:
        _checked(_libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(self._program), 0, 0), "seccomp")


def flush_c_streams() -> None:
    """Those of the C library, which Python's own know nothing of."""
    _checked(_libc.fflush(None), "fflush")


def advise(start: int, length: int, advice: Advice) -> bool:
    """@returns whether the kernel has taken it."""
    return int(_libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(length), int(advice))) == 0


def close_from(lowest: int) -> None:
    """Closes every descriptor from `lowest` on, known or not."""
    os.closerange(lowest, resource.getrlimit(resource.RLIMIT_NOFILE)[1])

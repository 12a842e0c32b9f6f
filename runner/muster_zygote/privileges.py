"""System calls that change a process's user, capabilities and privileges."""

import struct
from pathlib import Path

from muster_zygote.linux import Call, libc

_PR_SET_DUMPABLE = 4
_PR_SET_KEEPCAPS = 8
_PR_CAPBSET_DROP = 24
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_RAISE = 2
_PR_CAP_AMBIENT_CLEAR_ALL = 4
# The header of capset(2): the version, and this process; then effective, permitted and inheritable ones, twice 32 bits each.
_OWN_CAPABILITIES, _NONE = struct.pack("Ii", 0x2008_0522, 0), bytes(24)
_CAP_SYS_CHROOT, _CAP_SYS_ADMIN, _CAP_WAKE_ALARM = 18, 21, 35


def leave_groups() -> Call:
    """Drops all supplementary groups. Call it before the user changes, because it requires a privilege."""
    return Call(libc.setgroups, (0, None), "setgroups")


def become_user(number: int) -> tuple[Call, ...]:
    """Becomes the user and the group of this number. Processes of that user may still read this one's memory."""
    return (
        Call(libc.setresgid, (number, number, number), "setresgid"),
        Call(libc.setresuid, (number, number, number), "setresuid"),
        Call(libc.prctl, (_PR_SET_DUMPABLE, 1, 0, 0, 0), "PR_SET_DUMPABLE"),
    )


def keep_capabilities() -> Call:
    """Keeps the capabilities when root becomes another user."""
    return Call(libc.prctl, (_PR_SET_KEEPCAPS, 1, 0, 0, 0), "PR_SET_KEEPCAPS")


def keep_capabilities_to_enter() -> Call:
    """Drops all capabilities except the two that entering a namespace requires."""
    kept = 1 << _CAP_SYS_ADMIN | 1 << _CAP_SYS_CHROOT
    return Call(libc.capset, (_OWN_CAPABILITIES, struct.pack("3I", kept, kept, 0) + bytes(12)), "capset")


def hand_down_capabilities_to_enter(other_user: tuple[Call, ...]) -> tuple[Call, ...]:
    """Passes these two capabilities on to the next program that is executed. It has them as any user, and can gain no others."""
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
    """Returns the number of the kernel's highest capability."""
    return int(Path("/proc/sys/kernel/cap_last_cap").read_text())


def drop_capabilities() -> tuple[Call, ...]:
    """Drops all capabilities for good. They also leave the bounding set, so no program can regain them."""
    bounding = (Call(libc.prctl, (_PR_CAPBSET_DROP, each, 0, 0, 0), "drop a capability") for each in range(read_last_capability() + 1))
    ambient = Call(libc.prctl, (_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0), "clear the ambient capabilities")
    return (*bounding, ambient, Call(libc.capset, (_OWN_CAPABILITIES, _NONE), "capset"))


def keep_one_capability() -> tuple[Call, ...]:
    """Drops all capabilities except CAP_WAKE_ALARM, which has no effect in a user namespace and stays across execve(2).

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
    """Keeps unprivileged processes, also those of the same user, from reading this one's memory."""
    return Call(libc.prctl, (_PR_SET_DUMPABLE, 0, 0, 0, 0), "PR_SET_DUMPABLE")

"""Filters of system calls: seccomp(2)."""

import ctypes

from muster_zygote.linux import Call, libc

_PR_SET_SECCOMP = 22
_SECCOMP_MODE_FILTER = 2


class FilterProgram:
    """A seccomp filter: instructions of struct sock_filter, eight bytes each."""

    def __init__(self, instructions: bytes) -> None:
        self.instructions = instructions
        self._kept = ctypes.create_string_buffer(instructions, len(instructions))
        self._described = _Program(len(self), ctypes.cast(self._kept, ctypes.c_void_p))
        # ctypes passes this in place of the object: the address of its description.
        self._as_parameter_ = ctypes.byref(self._described)

    def __len__(self) -> int:
        return len(self.instructions) // 8


class _Program(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def install_filter(program: bytes) -> Call:
    return Call(libc.prctl, (_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, FilterProgram(program), 0, 0), "seccomp")

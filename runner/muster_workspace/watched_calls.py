"""Refuses system calls that a command may not make, and notes their numbers.

The kernel asks this process before it carries out such a call (seccomp_unotify(2)). All processes that the command starts have the same
filter, and cannot remove it.
"""

import array
import contextlib
import ctypes
import errno
import fcntl
import mmap
import os
import select
import socket
import struct
from dataclasses import dataclass

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long

_LOAD_WORD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _ASK = 0x7FFF_0000, 0x7FC0_0000
_NUMBER_AT, _FIRST_ARGUMENT_AT, _ARGUMENT_BYTES = 0, 16, 8
_SET_FILTER, _NEW_LISTENER = 1, 8
_RECEIVE, _ANSWER = 0xC050_2100, 0xC018_2101
_NOTICE_BYTES = 80
# Numbers of system calls on x86-64 and on 64-bit ARM.
_SECCOMP, _SENDMSG, _EXECVE = (317, 46, 59) if os.uname().machine == "x86_64" else (277, 211, 221)
_SCM_RIGHTS = 1
_PASS_SECONDS = 10.0

_Instruction = tuple[int, int, int, int]


class Calls:
    """Answers the kernel's questions on one descriptor, and keeps the numbers of the calls."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.numbers: set[int] = set()

    def answer(self) -> bool:
        """Refuses the next call, and notes it. Returns False once no process is left that could make one."""
        waiting = select.poll()
        waiting.register(self.descriptor, select.POLLIN)
        events = waiting.poll(0)
        if not events:
            return True
        if not events[0][1] & select.POLLIN:
            return False
        notice = bytearray(_NOTICE_BYTES)
        # The process was killed meanwhile, and its call was not made.
        with contextlib.suppress(FileNotFoundError):
            fcntl.ioctl(self.descriptor, _RECEIVE, notice)
            call, _, _, number = struct.unpack_from("QIIi", notice)
            self.numbers.add(number)
            fcntl.ioctl(self.descriptor, _ANSWER, struct.pack("QqiI", call, 0, -errno.EPERM, 0))
        return True


@dataclass(frozen=True)
class Watch:
    """A filter that is prepared before the fork. The child installs it and becomes the command, and the parent answers."""

    numbers: tuple[int, ...]
    ours: socket.socket
    theirs: socket.socket

    @classmethod
    def prepare(cls, numbers: list[int]) -> "Watch":
        ours, theirs = socket.socketpair()
        ours.settimeout(_PASS_SECONDS)
        return cls(tuple(numbers), ours, theirs)

    def accept(self) -> Calls | None:
        """Takes the descriptor from the child, in the parent. Returns None when the child could not make one."""
        self.theirs.close()
        with self.ours:
            _, descriptors, _, _ = socket.recv_fds(self.ours, 1, 1)
        return Calls(descriptors[0]) if descriptors else None

    def become(self, path: str, argv: list[str], environment: dict[str, str]) -> None:
        """Sends the descriptor to the parent, and becomes the command, in the child. Raises OSError when that fails.

        Both calls have arguments at an address that only this process knows. The filter allows them for that address, also if the command
        may make neither.
        """
        secret = mmap.mmap(-1, mmap.PAGESIZE)
        address = ctypes.addressof(ctypes.c_char.from_buffer(secret))
        message = _Message(secret, address)
        file = address + mmap.PAGESIZE // 2
        encoded = os.fsencode(path) + b"\0"
        if len(encoded) > mmap.PAGESIZE // 2:
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
        secret[mmap.PAGESIZE // 2 : mmap.PAGESIZE // 2 + len(encoded)] = encoded
        words = _make_pointers([os.fsencode(word) for word in argv])
        variables = _make_pointers([os.fsencode(f"{name}={value}") for name, value in environment.items()])
        program = _program(self.numbers, {_SENDMSG: (1, address), _EXECVE: (0, file)})
        found = _libc.syscall(_SECCOMP, _SET_FILTER, _NEW_LISTENER, ctypes.byref(program))
        if found < 0:
            raise OSError(ctypes.get_errno(), f"seccomp: {os.strerror(ctypes.get_errno())}")
        message.give(found)
        _libc.syscall(_SENDMSG, self.theirs.fileno(), ctypes.c_void_p(address), 0)
        _libc.syscall(_EXECVE, ctypes.c_void_p(file), words, variables)
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


class _Message:
    """A message of one byte with a descriptor, laid out for sendmsg(2) in the given memory."""

    def __init__(self, memory: mmap.mmap, address: int) -> None:
        self._memory = memory
        base = struct.calcsize("PIxxxxPNPNixxxx")
        vector, control, data = base, base + 16, base + 48
        head = struct.pack("PIxxxxPNPNixxxx", 0, 0, address + vector, 1, address + control, 24, 0)
        memory[:base] = head
        memory[vector : vector + 16] = struct.pack("PN", address + data, 1)
        self._at = control

    def give(self, descriptor: int) -> None:
        self._memory[self._at : self._at + 24] = struct.pack("Niiixxxx", 20, socket.SOL_SOCKET, _SCM_RIGHTS, descriptor)


def _make_pointers(texts: list[bytes]) -> "ctypes.Array[ctypes.c_char_p]":
    return (ctypes.c_char_p * (len(texts) + 1))(*texts, None)


def _program(numbers: tuple[int, ...], let_through: dict[int, tuple[int, int]]) -> _Filter:
    """Builds a filter that asks for each of the numbers, except for a call whose argument is the address given for its number."""
    instructions: list[_Instruction] = [(_LOAD_WORD, 0, 0, _NUMBER_AT)]
    for number in numbers:
        decided = [*_unless(*let_through[number]), (_RETURN, 0, 0, _ASK)] if number in let_through else [(_RETURN, 0, 0, _ASK)]
        instructions += [(_JUMP_IF_EQUAL, 0, len(decided), number), *decided]
    instructions.append((_RETURN, 0, 0, _ALLOW))
    packed = array.array("B", b"".join(struct.pack("HBBI", *each) for each in instructions))
    program = _Filter(len(instructions), packed.buffer_info()[0])
    program.kept = packed
    return program


def _unless(argument: int, address: int) -> list[_Instruction]:
    at = _FIRST_ARGUMENT_AT + _ARGUMENT_BYTES * argument
    return [
        (_LOAD_WORD, 0, 0, at),
        (_JUMP_IF_EQUAL, 0, 3, address & 0xFFFF_FFFF),
        (_LOAD_WORD, 0, 0, at + 4),
        (_JUMP_IF_EQUAL, 0, 1, address >> 32),
        (_RETURN, 0, 0, _ALLOW),
    ]

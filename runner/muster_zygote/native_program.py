"""Builds a program of machine instructions from a list of system calls.

The program makes the calls one after the other, reports their results, and then sleeps for ever. A process that runs it has four pages of
memory and needs no library. A process that is forked from Python to make the same calls copies some 150 pages, and makes its parent copy
250.
"""

import platform
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from muster_zygote.linux import Argument, Call
from muster_zygote.seccomp import FilterProgram

# The program's only descriptor: it reports the results of the calls there.
REPORT = 0
# The first word of its command line is its name. Messages show this many bytes of it.
NAME_BYTES = 8
# The program's name; the result of the last call, an error as a negative number; the position of that call, or NONE_FAILED.
REPORTED = struct.Struct("=8sqi4x")
NONE_FAILED = -1

_BITS_64 = (1 << 64) - 1
_SIGNAL_SET_BYTES = 8
# Linux's numbers on x86-64, by the C library's names.
_NUMBERS = {
    "write": 1,
    "open": 2,
    "close": 3,
    "ioctl": 16,
    "socket": 41,
    "chdir": 80,
    "mkdir": 83,
    "setsid": 112,
    "setgroups": 116,
    "setresuid": 117,
    "setresgid": 119,
    "capset": 126,
    "prctl": 157,
    "mount": 165,
    "umount2": 166,
    "sethostname": 170,
    "unshare": 272,
    "close_range": 436,
}
_RT_SIGACTION = 13
# For each register of an argument: the instruction that loads a number of 64 bits, and the one that loads from the stack.
_REGISTERS = (
    (b"\x48\xbf", b"\x48\x8b\xbc\x24"),  # rdi
    (b"\x48\xbe", b"\x48\x8b\xb4\x24"),  # rsi
    (b"\x48\xba", b"\x48\x8b\x94\x24"),  # rdx
    (b"\x49\xba", b"\x4c\x8b\x94\x24"),  # r10
    (b"\x49\xb8", b"\x4c\x8b\x84\x24"),  # r8
)
# eax: the number of the system call.
_LOAD_NUMBER = b"\xb8"
# ebx: the position of the call.
_LOAD_POSITION = b"\xbb"
_SYSTEM_CALL = bytes.fromhex(
    "0f05"  # syscall
    "4885c0"  # test rax, rax
    "0f88"  # js, to what follows all calls: how far that is comes behind it
)
_JUMP = struct.Struct("=i")
_ALL_MADE = bytes.fromhex(
    "31c0"  # xor eax, eax
    "bbffffffff"  # mov ebx, -1
)
_TELL_AND_STAY = bytes.fromhex(
    "53"  # push rbx
    "50"  # push rax
    "488b4c2418"  # mov rcx, [rsp + 24]: the first word
    "ff31"  # push qword [rcx]
    "4989c4"  # mov r12, rax
    "b801000000"  # mov eax, 1 (write)
    "31ff"  # xor edi, edi
    "4889e6"  # mov rsi, rsp
    "ba18000000"  # mov edx, 24
    "0f05"  # syscall
    "b803000000"  # mov eax, 3 (close)
    "31ff"  # xor edi, edi
    "0f05"  # syscall
    "4d85e4"  # test r12, r12
    "780b"  # js, over the pause
    "b822000000"  # mov eax, 34 (pause)
    "0f05"  # syscall
    "ebf7"  # jmp, to the pause
    "9090"  # nop
    "b83c000000"  # mov eax, 60 (exit)
    "bf01000000"  # mov edi, 1
    "0f05"  # syscall
)

_MACHINE_X86_64 = 62
# The address at which it is loaded. Any free address serves.
_ADDRESS = 0x40_0000
_HEADER_BYTES, _SEGMENT_BYTES, _PAGE_BYTES = 64, 56, 4096
_START = _ADDRESS + _HEADER_BYTES + _SEGMENT_BYTES


def is_known_machine() -> bool:
    """Returns whether there are instructions for this processor."""
    return platform.machine() == "x86_64"


def build_native_program(calls: Sequence[Call]) -> bytes:
    """Builds an executable (elf(5)). Its command line is its name and, from position 1 on, the words that replace Arguments.

    @raises KeyError for a call without a known number.
    """
    # The length of the instructions does not depend on the addresses in them. So a first pass with any addresses shows where the data
    # begin.
    length = len(_assemble_all(calls, _Data(0)))
    data = _Data(_START + length)
    return _build_executable(_assemble_all(calls, data) + bytes(data.content))


@dataclass
class _Data:
    """The data to which arguments of calls point. It follows the instructions."""

    address: int
    content: bytearray = field(default_factory=bytearray)

    def add(self, content: bytes) -> int:
        """Appends data. @returns its address."""
        address = self.address + len(self.content)
        self.content += content
        return address


def _assemble_all(calls: Sequence[Call], data: _Data) -> bytes:
    blocks = [_assemble_call(position, call, data) for position, call in enumerate(calls)]
    left = sum(len(block) + _JUMP.size for block in blocks)
    end = len(_ALL_MADE)
    written = bytearray()
    for block in blocks:
        left -= len(block) + _JUMP.size
        written += block + _JUMP.pack(left + end)
    return bytes(written) + _ALL_MADE + _TELL_AND_STAY


def _assemble_call(position: int, call: Call, data: _Data) -> bytes:
    number, arguments = _as_kernel_has_it(call)
    loads = b"".join(_load(register, argument, data) for register, argument in zip(_REGISTERS, arguments, strict=False))
    return _LOAD_POSITION + struct.pack("=I", position) + loads + _LOAD_NUMBER + struct.pack("=I", number) + _SYSTEM_CALL


def _as_kernel_has_it(call: Call) -> tuple[int, tuple[Any, ...]]:
    """Returns the kernel's number and arguments of a call. They differ from the library's only for `signal`."""
    name = call.function.__name__
    if name == "signal":
        signal, handler = call.arguments
        # struct kernel_sigaction: the handler, flags, the function that returns from the handler, an empty set of signals.
        return _RT_SIGACTION, (signal, struct.pack("=4Q", handler, 0, 0, 0), None, _SIGNAL_SET_BYTES)
    return _NUMBERS[name], call.arguments


def _load(register: tuple[bytes, bytes], argument: Any, data: _Data) -> bytes:
    number, word = register
    match argument:
        case Argument(position):
            # The stack begins with the number of words.
            return word + struct.pack("=I", 8 * (1 + position))
        case FilterProgram():
            value = data.add(struct.pack("=HxxxxxxQ", len(argument), data.add(argument.instructions)))
        case bytes():
            value = data.add(argument + b"\0")
        case None:
            value = 0
        case _:
            value = int(argument)
    return number + struct.pack("=Q", value & _BITS_64)


def _build_executable(content: bytes) -> bytes:
    size = _HEADER_BYTES + _SEGMENT_BYTES + len(content)
    # 64 bits, little-endian, version 1; not relocatable.
    kind = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    header = kind + struct.pack(
        "<HHIQQQIHHHHHH", 2, _MACHINE_X86_64, 1, _START, _HEADER_BYTES, 0, 0, _HEADER_BYTES, _SEGMENT_BYTES, 1, 0, 0, 0
    )
    # One segment to load, readable and executable.
    return header + struct.pack("<IIQQQQQQ", 1, 5, 0, _ADDRESS, _ADDRESS, size, size, _PAGE_BYTES) + content

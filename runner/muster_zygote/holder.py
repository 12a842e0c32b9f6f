"""A program that does nothing, and so is all that a sandbox's first process needs to be once the walls stand.

It has a page of memory, where /bin/sleep has the C library and a hundred pages, which every sandbox would pay for.
"""

import fcntl
import os
import platform
import struct

from muster_zygote.linux import Call, close_all_but, execute

# On other machines. Does nothing for 68 years.
SLEEP = ("/bin/sleep", str(2**31 - 1))
NAME = "holder"

# pause(); again.
CODE = {
    "x86_64": bytes.fromhex(
        "b822000000"  # mov eax, 34 (pause)
        "0f05"  # syscall
        "ebf7"  # jmp to the beginning
    ),
}
# EM_X86_64 in elf.h.
MACHINE = {"x86_64": 62}
# Where it is loaded: anywhere that is not taken.
ADDRESS = 0x40_0000

HEADER_BYTES, SEGMENT_BYTES = 64, 56
PAGE_BYTES = 4096


class Holder:
    """The program, ready to be executed any number of times."""

    def __init__(self) -> None:
        code = CODE.get(platform.machine())
        self._descriptor = None if code is None else _sealed(_executable(code, MACHINE[platform.machine()]))

    def become(self) -> tuple[Call, ...]:
        """Leaves nothing open. What comes behind it is done only when it fails."""
        if self._descriptor is None:
            return (*close_all_but(), execute(SLEEP[0], SLEEP))
        return (*close_all_but(self._descriptor), execute(self._descriptor, (NAME,)))


def _executable(code: bytes, machine: int) -> bytes:
    """As elf(5) has it: a header, one segment that holds the whole file, the code."""
    start = HEADER_BYTES + SEGMENT_BYTES
    size = start + len(code)
    # 64 bits, little-endian, version 1; a program that is not to be moved.
    header = b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + struct.pack(
        "<HHIQQQIHHHHHH", 2, machine, 1, ADDRESS + start, HEADER_BYTES, 0, 0, HEADER_BYTES, SEGMENT_BYTES, 1, 0, 0, 0
    )
    # To be loaded; to be read and executed.
    segment = struct.pack("<IIQQQQQQ", 1, 5, 0, ADDRESS, ADDRESS, size, size, PAGE_BYTES)
    return header + segment + code


def _sealed(program: bytes) -> int:
    """A file in memory that nobody can change any more."""
    descriptor = os.memfd_create(NAME, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.write(descriptor, program)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL)
    return descriptor

"""System calls that Python has no functions for."""

import ctypes
import os
import struct

_libc = ctypes.CDLL(None, use_errno=True)

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_CAPBSET_DROP = 24
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_LAST_CAPABILITY = 63
_EINVAL = 22
_SIGKILL = 9
# The header of capset(2): the version, and this process; then effective, permitted and inheritable ones, twice 32 bits each.
_OWN_CAPABILITIES, _NONE = struct.pack("Ii", 0x2008_0522, 0), bytes(24)
_IPC_RMID = 0
# For each kind: the command that asks for the number of objects, and the position of the number in the answer.
_IPC_INFO = {"shm": (14, 0), "msg": (12, 0), "sem": (19, 28)}
_ipc_answer = ctypes.create_string_buffer(256)
# Numbers of system calls on x86-64 and on 64-bit ARM.
_SCHED_GETATTR, _IOPRIO_GET = (315, 252) if os.uname().machine == "x86_64" else (275, 31)
_SCHEDULING_BYTES = 56
_scheduling = ctypes.create_string_buffer(_SCHEDULING_BYTES)
_libc.shmctl.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_void_p)
_libc.msgctl.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_void_p)
_libc.semctl.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int)


def become(user: int) -> None:
    """Becomes another user for good, and keeps no capability. The caller must be root of a user namespace."""
    for capability in range(_LAST_CAPABILITY + 1):
        if _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 and ctypes.get_errno() != _EINVAL:
            raise _create_failure("prctl")
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    _check("prctl", _libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0))
    _check("capset", _libc.capset(_OWN_CAPABILITIES, _NONE))
    # This is set last, because the kernel forgets it when a process changes its user.
    _check("prctl", _libc.prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0))


def seal() -> None:
    """Keeps processes of the same user out of this one's memory and descriptors: root owns /proc/PID from now on."""
    _check("prctl", _libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0))


def read_scheduling(pid: int) -> tuple[bytes, int]:
    """Returns the scheduling of a process, and its priority for input and output. Raises OSError."""
    _check("sched_getattr", _libc.syscall(_SCHED_GETATTR, pid, _scheduling, _SCHEDULING_BYTES, 0))
    return _scheduling.raw, _libc.syscall(_IOPRIO_GET, 1, pid)


def count_ipc(kind: str) -> int | None:
    """Returns the number of System V shared memory segments, message queues or semaphore sets; None where the kernel does not report it."""
    command, at = _IPC_INFO[kind]
    match kind:
        case "shm":
            result = _libc.shmctl(0, command, _ipc_answer)
        case "msg":
            result = _libc.msgctl(0, command, _ipc_answer)
        case _:
            result = _libc.semctl(0, 0, command, _ipc_answer)
    return None if result < 0 else struct.unpack_from("i", _ipc_answer, at)[0]


def remove_ipc(kind: str, number: int) -> None:
    """Removes a System V shared memory segment, message queue or semaphore set. It is no failure if that is gone already."""
    match kind:
        case "shm":
            _libc.shmctl(number, _IPC_RMID, None)
        case "msg":
            _libc.msgctl(number, _IPC_RMID, None)
        case "sem":
            _libc.semctl(number, 0, _IPC_RMID)


def _check(call: str, result: int) -> None:
    if result != 0:
        raise _create_failure(call)


def _create_failure(call: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{call}: {os.strerror(number)}")

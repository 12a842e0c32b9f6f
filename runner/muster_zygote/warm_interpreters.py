"""Keeps running interpreters for the sandboxes of one warden: a sandbox's interpreter is forked from one.

The first process of a sandbox sends one request, on a socket that it was forked with. The request only names modules of the interpreter's
own library and the variables of programs. The warden passes the socket on, and it becomes the connection to the forked interpreter. If that
fails, the warden closes the socket, and the first process starts an interpreter itself.

A warm interpreter may enter the namespaces of sandboxes, and has no other privilege of the warden. It never runs a submission's code. Only
processes that are forked from it do (warm_forked_python.py), after they have entered the sandbox and given up their privileges.
"""

import marshal
import os
import socket
import struct
from array import array
from typing import Any

from muster_zygote.entrance import open_entrance
from muster_zygote.envelope import close_all
from muster_zygote.linux import Call, Namespace, libc, make, new_session, unshare
from muster_zygote.privileges import (
    become_user,
    drop_capabilities,
    forbid_new_privileges,
    hand_down_capabilities_to_enter,
    hide_memory,
    keep_capabilities,
    leave_groups,
)
from muster_zygote.seccomp import FilterProgram, install_filter
from muster_zygote.settings import Settings, list_limits
from muster_zygote.site import open_groups

PYTHON = "/usr/bin/python3"
PROGRAM = "/muster/runner/warm_forked_python.py"
# The other variables of a program are set later (muster_workspace/warm.py). With LD_BIND_NOW, functions of libraries are looked up at the
# start; otherwise each fork would look up those that it calls.
ENVIRONMENT = {"LC_CTYPE": "C.UTF-8", "LD_BIND_NOW": "1"}
_ORDERS = 3
_MOST = 4
_REQUEST_BYTES = 1 << 16
_MOST_MODULES = 64


class WarmInterpreters:
    """At most _MOST interpreters. A new one ends the least recently used. Interpreters that were forked from it continue."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._all: dict[bytes, tuple[int, socket.socket]] = {}

    def hand_on(self, line: socket.socket, pid: int, sandbox: str) -> None:
        """Forks an interpreter for the first process `pid`, which has sent a request on this line, or has ended. Closes the line."""
        descriptors: list[int] = []
        try:
            request = line.recv(_REQUEST_BYTES, socket.MSG_DONTWAIT)
            if request:
                modules, _, variables = request.partition(b"\0\0")
                processes, *others = descriptors = open_entrance(pid, self._settings)
                descriptors.append(os.open(f"/proc/{pid}/ns/cgroup", os.O_RDONLY | os.O_CLOEXEC))
                # The user namespace comes last.
                namespaces = [processes, descriptors[-1], *others]
                groups = open_groups(sandbox, self._settings.cgroups)
                descriptors += groups
                rights = array("i", [*namespaces, *groups, line.fileno()])
                order = b"%d\0%s" % (len(namespaces), variables)
                self._get_channel(modules).sendmsg([order], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)], socket.MSG_DONTWAIT)
        except (OSError, ValueError):
            # The first process sees that the line is closed.
            return
        finally:
            line.close()
            close_all(descriptors)

    def forget(self, pid: int) -> None:
        """Notes the end of a warm interpreter, or of a process that was forked from one."""
        modules = next((modules for modules, (each, _) in self._all.items() if each == pid), None)
        if modules is not None:
            self._all.pop(modules)[1].close()

    def _get_channel(self, modules: bytes) -> socket.socket:
        pid, channel = self._all.pop(modules) if modules in self._all else self._start(modules)
        # The dictionary is in the order of use: the latest comes last.
        self._all[modules] = pid, channel
        if len(self._all) > _MOST:
            # The interpreter ends at the end of its orders.
            self._all.pop(next(iter(self._all)))[1].close()
        return channel

    def _start(self, modules: bytes) -> tuple[int, socket.socket]:
        """Starts a warm interpreter. Raises OSError, and ValueError when the request names no valid modules."""
        names = modules.decode("ascii").split("\0") if modules else []
        if len(names) > _MOST_MODULES or not all(part.isidentifier() for name in names for part in name.split(".")):
            raise ValueError("invalid names of modules")
        if not os.access(PYTHON, os.X_OK):
            raise FileNotFoundError(PYTHON)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        pid = os.fork()
        if pid == 0:
            self._become(theirs.fileno(), names)
        theirs.close()
        ours.send(marshal.dumps(list_calls(self._settings), 2))
        return pid, ours

    def _become(self, orders: int, names: list[str]) -> None:
        try:
            os.dup2(orders, _ORDERS)
            null = os.open("/dev/null", os.O_RDWR)
            for stream in range(_ORDERS):
                os.dup2(null, stream)
            os.closerange(_ORDERS + 1, os.sysconf("SC_OPEN_MAX"))
            os.umask(0o022)
            os.chdir("/")
            settings = self._settings
            other_user = (leave_groups(), keep_capabilities(), *become_user(settings.uid)) if settings.own_user else ()
            make(unshare(Namespace.MOUNT), *hand_down_capabilities_to_enter(other_user), forbid_new_privileges())
            os.execve(PYTHON, [PYTHON, "-I", PROGRAM, *names], ENVIRONMENT)
        finally:
            os._exit(1)


def list_calls(settings: Settings) -> list[tuple[str, tuple[Any, ...]]]:
    """Returns the calls that restrict a process in a sandbox, the same as for the first process (walls.py)."""
    bounds = (Call(libc.setrlimit, (kind, struct.pack("QQ", most, most)), "setrlimit") for kind, most in list_limits(settings))
    calls = [*bounds, new_session(), *drop_capabilities(), forbid_new_privileges(), install_filter(settings.filter), hide_memory()]
    return [(call.function.__name__, tuple(_as_plain(each) for each in call.arguments)) for call in calls]


def _as_plain(argument: Any) -> Any:
    return [argument.instructions] if isinstance(argument, FilterProgram) else argument

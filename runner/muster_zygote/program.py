"""The program of a sandbox, in the process that was forked for it."""

import atexit
import os
import random
import resource
import runpy
import signal
import sys
import threading
import types
from typing import NoReturn

from muster_zygote.linux import (
    Filter,
    Namespace,
    close_from,
    drop_capabilities,
    enter,
    forbid_new_privileges,
    last_capability,
)
from muster_zygote.settings import Settings
from muster_zygote.walls import PRIVATE_NAMESPACES, join

# What a shell says of a program that it does not find, and of one that it may not run.
EXIT_NOT_FOUND = 127
EXIT_NOT_EXECUTABLE = 126


class Confinement:
    """How a forked process gets behind the walls of its sandbox, worked out once."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._filter = Filter(settings.filter)
        self._last_capability = last_capability()

    def enter(self, walls: int, streams: tuple[int, int, int], cgroups: list[int]) -> None:
        """What has been opened before is not to be had any more afterwards, but for descriptors 0, 1 and 2.

        @param walls: a pidfd of the sandbox's first process.
        @raises OSError
        """
        join(cgroups)
        network = Namespace(0) if self._settings.host_network else Namespace.NETWORK
        enter(walls, PRIVATE_NAMESPACES | network)
        os.chdir("/tmp")
        # Last: in it, this process may no longer enter what the warden's namespace owns.
        enter(walls, Namespace.USER)
        os.setsid()
        for target, stream in enumerate(streams):
            os.dup2(stream, target)
        self._limit()
        drop_capabilities(self._last_capability)
        forbid_new_privileges()
        self._filter.install()

    def _limit(self) -> None:
        limits = self._settings
        wished = {
            resource.RLIMIT_AS: limits.memory_bytes,
            resource.RLIMIT_NPROC: limits.processes,
            resource.RLIMIT_NOFILE: limits.open_files,
        }
        for kind, wanted in wished.items():
            if wanted is None:
                continue
            hard = resource.getrlimit(kind)[1]
            limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            resource.setrlimit(kind, (limit, limit))


def forget_the_past() -> None:
    """What the image did and knew is not this program's: its signals, its descriptors, its random numbers and keys."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    close_from(3)
    random.seed()
    if (numpy := sys.modules.get("numpy")) is not None:
        numpy.random.seed()
    if (torch := sys.modules.get("torch")) is not None:
        torch.seed()
    if (multiprocessing := sys.modules.get("multiprocessing")) is not None:
        # By this key processes trust each other, over the network too, which sandboxes may share.
        multiprocessing.current_process().authkey = os.urandom(32)


def run(command: tuple[str, ...]) -> NoReturn:
    """Runs the command and ends the process with it.

    This interpreter's own programs (`python -I PATH …` and `python -I -c SOURCE …`) run right here, with all that has been
    imported. Anything else replaces the process.
    """
    own = _own_program(command)
    if own is None:
        _replace(command)
    os._exit(_exit_code(own))


def _own_program(command: tuple[str, ...]) -> "OwnProgram | None":
    if len(command) < 3 or command[0] != sys.executable or command[1] != "-I":
        return None
    if command[2] == "-c":
        return OwnProgram(None, command[3], ("-c", *command[4:])) if len(command) > 3 else None
    return None if command[2].startswith("-") else OwnProgram(command[2], "", command[2:])


class OwnProgram:
    """A Python program for the interpreter that is already running."""

    def __init__(self, path: str | None, source: str, arguments: tuple[str, ...]) -> None:
        self._path = path
        self._source = source
        self._arguments = arguments

    def __call__(self) -> None:
        sys.argv = list(self._arguments)
        if self._path is not None:
            runpy.run_path(self._path, run_name="__main__")
            return
        module = types.ModuleType("__main__")
        sys.modules["__main__"] = module
        exec(compile(self._source, "<string>", "exec"), module.__dict__)


def _replace(command: tuple[str, ...]) -> NoReturn:
    try:
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
        os._exit(EXIT_NOT_FOUND if isinstance(error, FileNotFoundError) else EXIT_NOT_EXECUTABLE)


def _exit_code(program: OwnProgram) -> int:
    """Runs it as an interpreter would, up to and including what it left to be done at its exit."""
    code = _code_of(program)
    # An interpreter's end, but for the destruction of all modules: that would touch, and so copy, every page that is shared.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            code = code or 120
    return code


def _code_of(program: OwnProgram) -> int:
    try:
        program()
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            return (error.code or 0) & 0xFF
        print(error.code, file=sys.stderr)
        return 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    return 0

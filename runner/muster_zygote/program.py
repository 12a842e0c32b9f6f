"""Runs the program of a sandbox, in the process that was forked for it."""

import atexit
import contextlib
import os
import random
import resource
import signal
import sys
import threading
import types
from functools import cache
from typing import NoReturn

from muster_zygote.entrance import list_namespaces
from muster_zygote.linux import Namespace, change_directory, close_from, enter, make, new_session, unshare
from muster_zygote.privileges import drop_capabilities, forbid_new_privileges
from muster_zygote.seccomp import install_filter
from muster_zygote.settings import Settings

# Exit codes as in a shell: for a program that is not found, and for one that may not be executed.
EXIT_NOT_FOUND = 127
EXIT_NOT_EXECUTABLE = 126
# The descriptor on which a program finds its connection to the program that it is joined to.
LINE = 3


class Confinement:
    """Moves a forked process into its sandbox. What all processes share is prepared once."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        # The process is forked inside the pid namespace, so it enters the others only.
        _processes, *self._namespaces, self._users = list_namespaces(settings)
        # The cgroup namespace is made after the process has joined its groups. They are its roots, so their names are hidden.
        self._own_cgroups = unshare(Namespace.CGROUP)
        self._home, self._session = change_directory("/tmp"), new_session()
        self._confinement = (*drop_capabilities(), forbid_new_privileges(), install_filter(settings.filter))

    def enter(self, entrance: list[int], streams: tuple[int, int, int], cgroups: list[int]) -> None:
        """Enters the sandbox, and gives up all access to what was open before, except descriptors 0, 1 and 2.

        @param entrance: descriptors of the sandbox's namespaces, without the pid namespace. @param cgroups: open cgroup.procs files, one in
        each hierarchy. Only the program joins the groups, because the sandbox's first process does nothing. @raises OSError
        """
        for descriptor in cgroups:
            os.write(descriptor, b"0")
        *shared, last = entrance
        entered = [enter(descriptor, namespace) for descriptor, namespace in zip(shared, self._namespaces, strict=True)]
        make(self._own_cgroups, *entered, self._home, enter(last, self._users), self._session)
        for target, stream in enumerate(streams):
            os.dup2(stream, target)
        self._limit()
        make(*self._confinement)

    def _limit(self) -> None:
        limits = self._settings
        wished = {
            resource.RLIMIT_DATA: limits.data_bytes,
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


def forget_the_past(line: int | None = None) -> None:
    """Resets what the process has from its image: signals, descriptors, random numbers and keys.

    @param line: a descriptor that becomes LINE.
    """
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if line is None:
        close_from(LINE)
    else:
        os.dup2(line, LINE)
        close_from(LINE + 1)
    random.seed()
    if (numpy := sys.modules.get("numpy")) is not None:
        # NumPy gets one number as its seed: without a seed, it takes ten times as long, and more memory.
        numpy.random.seed(int.from_bytes(os.urandom(4)))
    if (torch := sys.modules.get("torch")) is not None:
        torch.seed()
    if (multiprocessing := sys.modules.get("multiprocessing")) is not None:
        # Processes that have this key trust each other, also over the network, which sandboxes may share.
        multiprocessing.current_process().authkey = os.urandom(32)


def run(command: tuple[str, ...]) -> NoReturn:
    """Runs the command, and ends the process with it.

    Programs of this interpreter (`python -I PATH …` and `python -I -c SOURCE …`) run in this process, with everything that has been
    imported. Any other command replaces the process.
    """
    own = _parse_own_program(command)
    if own is None:
        _replace(command)
    os._exit(_run_program(own))


def prepare(command: tuple[str, ...]) -> None:
    """Does in the image what all programs that are forked from it share."""
    own = _parse_own_program(command)
    if own is not None:
        own.prepare()


def _parse_own_program(command: tuple[str, ...]) -> "OwnProgram | None":
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

    def prepare(self) -> None:
        """Compiles the program. Ignores errors in its file, because the program reports them when it starts."""
        if self._path is not None:
            with contextlib.suppress(OSError, SyntaxError, ValueError):
                compile_main(self._path)

    def __call__(self) -> None:
        sys.argv = list(self._arguments)
        module = types.ModuleType("__main__")
        sys.modules["__main__"] = module
        if self._path is None:
            exec(compile(self._source, "<string>", "exec"), module.__dict__)
            return
        file, code = compile_main(self._path)
        if file != self._path:
            sys.path.insert(0, self._path)
        module.__file__ = file
        exec(code, module.__dict__)


@cache
def compile_main(path: str) -> tuple[str, types.CodeType]:
    """Returns the file that `python PATH` runs, and its code. An image compiles it before the first program is forked.

    @raises OSError, SyntaxError; ValueError from an older Python for a file with a null byte
    """
    file = os.path.join(path, "__main__.py") if os.path.isdir(path) else path  # noqa: PTH112, PTH118 -- pathlib costs memory in every sandbox
    with open(file, "rb") as source:  # noqa: PTH123
        return file, compile(source.read(), file, "exec")


def _replace(command: tuple[str, ...]) -> NoReturn:
    try:
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
        os._exit(EXIT_NOT_FOUND if isinstance(error, FileNotFoundError) else EXIT_NOT_EXECUTABLE)


def _run_program(program: OwnProgram) -> int:
    """Runs the program as an interpreter would, including the functions that it has registered for its exit."""
    code = _get_exit_code(program)
    # This is an interpreter's end, except for the destruction of all modules, which would write to every shared page and so copy it.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            code = code or 120
    return code


def _get_exit_code(program: OwnProgram) -> int:
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

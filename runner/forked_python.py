"""An interpreter that forks a process for each run of a program: `python3 -I forked_python.py MODULES`, with orders on descriptor 3.

The Python of the root file system runs this file, so it imports nothing of Muster and uses only what Python 3.7 and later have. Each run
starts in the same state as in a new interpreter. Untrusted programs run as the same user beside this process, so it makes its memory
inaccessible to them. Muster's program, which sends the orders, checks before each that no limit and no scheduling of this process has been
changed (muster_workspace/interpreters.py).
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import os
import sys

# Modules that are imported here are imported in every run.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Sequence, Set, Tuple

_ORDERS = 3
_ORDER_BYTES = 1 << 17
_PR_SET_DUMPABLE = 4


def define(file_name: str) -> Dict[str, Any]:
    """Runs a file beside this one, and returns the names that it defines. An isolated interpreter cannot import the file."""
    path = __file__.rpartition("/")[0] + "/" + file_name
    names: Dict[str, Any] = {}
    with open(path, "rb") as file:
        exec(compile(file.read(), path, "exec"), names)
    return names


_RUN = define("one_run.py")
# `_repeat` fills it at its first call.
_REPEATED: Dict[str, Any] = {}


def native(*names: str) -> List[Callable[..., int]]:
    """Returns functions of the C library whose result is an int. Raises ImportError."""
    # The C module that ctypes uses. Importing ctypes itself takes longer than everything else here.
    import _ctypes

    # A program must find the state of an interpreter that has just started.
    del sys.modules["_ctypes"]
    number = type("c_int", (_ctypes._SimpleCData,), {"_type_": "i"})
    function = type("function", (_ctypes.CFuncPtr,), {"_flags_": _ctypes.FUNCFLAG_CDECL, "_restype_": number})
    library = _ctypes.dlopen(None, 0)  # type: ignore[arg-type]
    return [function(_ctypes.dlsym(library, name)) for name in names]


def seal() -> Callable[[], object]:
    """Keeps other processes of this user out of this one's memory. Returns a function that a child calls to undo it.

    Raises ImportError and OSError.
    """
    (prctl,) = native("prctl")
    if prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        raise OSError("other processes can read the interpreter's memory")
    return lambda: prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)


def _import(names: Sequence[str]) -> None:
    """Imports modules of the standard library, and numpy. Others may start threads, which a fork ends, or open files, which runs share."""
    if any(os.access(place or ".", os.W_OK) for place in sys.path):
        raise ImportError("a program could replace the interpreter's modules")
    allowed = set(getattr(sys, "stdlib_module_names", ())) | {"numpy"}
    for name in names:
        if name.split(".")[0] in allowed:
            try:
                __import__(name)
            except ImportError:
                pass


def serve(orders: Any, unseal: Callable[[], object]) -> Tuple[str, List[str]]:
    """Forks a process for each run of an order, and reports how it ended. Returns only in a run's process: program and arguments."""
    # A program that still runs could interrupt this process between the end of a run and the report.
    _signal.signal(_signal.SIGINT, _signal.SIG_IGN)
    hides_resource = "resource" not in sys.modules

    def begin(streams: List[int], variables: List[str], directory: str) -> None:
        if hides_resource:
            # wait4 has imported it, and a program must find the state of an interpreter that has just started.
            sys.modules.pop("resource", None)
        _become(streams, unseal)
        for variable in variables:
            name, _, value = variable.partition("=")
            os.environ[name] = value
        os.chdir(directory)

    while True:
        data, control, _, _ = orders.recvmsg(_ORDER_BYTES, 1024)
        if not data:
            os._exit(0)
        words = [os.fsdecode(each) for each in data.split(b"\0")]
        program = _carry_out(orders, words, memoryview(control[0][2]).cast("i").tolist(), begin)
        if program:
            return program[0], program[1:]


def _carry_out(orders: Any, words: List[str], streams: List[int], begin: Callable[..., None]) -> List[str]:
    """Carries an order out. Returns the program and its arguments in a run's process; an empty list in this one.

    An order with several runs ends after the first run that leaves a file in its directory: the sender then empties the directory.
    """
    directory, variables = words.pop(0), _take(words)
    programs = [_take(words) for _ in range(len(streams) // 3)]
    is_one = len(programs) == 1
    if not is_one and _repeat(programs, directory, streams, orders.send, lambda: begin([], variables, directory)):
        programs = []
    for program in programs:
        own, streams = streams[:3], streams[3:]
        run = os.fork()
        if run == 0:
            os.close(orders.detach())
            begin(own, variables, directory)
            _close(streams)
            return program
        if is_one:
            orders.send(b"%d" % run)
        _close(own)
        _, status, usage = os.wait4(run, 0)
        orders.send(b"%d %r %d" % (status, usage.ru_utime + usage.ru_stime, usage.ru_maxrss))
        if streams and os.listdir(directory):
            break
    _close(streams)
    if not is_one:
        orders.send(b"over")
    return []


def _repeat(
    programs: List[List[str]], directory: str, streams: List[int], send: Callable[[bytes], object], begin: Callable[[], None]
) -> bool:
    """Carries out all runs in one process, if the program can leave nothing in it for the next run. Reports each run that has ended."""
    if not _REPEATED:
        _REPEATED.update(define("repeated_runs.py"))
    if not _REPEATED["leaves_nothing"](os.path.join(directory, programs[0][0])):
        return False
    process = os.fork()
    if process == 0:
        begin()
        _REPEATED["run_all"](programs, streams, lambda: os.listdir(directory), send, (_RUN["load"], _RUN["execute"], _RUN["forget"]))
    os.waitpid(process, 0)
    return True


def _close(descriptors: List[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _take(words: List[str]) -> List[str]:
    """Removes and returns some words. The first word is their number."""
    end = int(words[0]) + 1
    taken = words[1:end]
    del words[:end]
    return taken


def _become(streams: Sequence[int], unseal: Callable[[], object]) -> None:
    for target, descriptor in enumerate(streams):
        os.dup2(descriptor, target)
        os.close(descriptor)
    os.setsid()
    _signal.signal(_signal.SIGINT, _signal.default_int_handler)
    # All writable directories are emptied before the next run, so it would not find the compiled modules of this one.
    sys.dont_write_bytecode = True
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed()
    unseal()


def _wait() -> Tuple[str, List[str], Set[str]]:
    import _socket

    orders = _socket.socket(fileno=_ORDERS)
    try:
        unseal, known = prepare(sys.argv[1:])
    except (ImportError, OSError) as error:
        orders.send(("unfit: %s" % error).encode("utf-8", "replace")[:1000])
        os._exit(1)
    orders.send(b"ready")
    return (*serve(orders, unseal), known)


def prepare(names: Sequence[str]) -> Tuple[Callable[[], object], Set[str]]:
    """Prepares what all runs share. Returns the result of `seal`, and the names of the modules that runs find. Raises ImportError and
    OSError.
    """
    unseal = seal()
    _import(names)
    import atexit  # noqa: F401
    import gc

    # The first compilation creates all types of syntax trees. Otherwise each run would create them.
    compile("", "", "exec")
    # Otherwise the garbage collector of a run would write to pages that all runs share, and have each copied.
    gc.collect()
    gc.freeze()
    return unseal, set(sys.modules)


if __name__ == "__main__":
    _RUN["run"](*_wait())

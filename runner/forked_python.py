"""An interpreter that is forked for each run of a program: `python3 -I forked_python.py MODULES`, orders at descriptor 3.

Whatever Python the root file system has runs this file, so it stands alone and keeps to what versions from 3.7 on understand. A run is a
process of its own, as if its program had been started by the interpreter itself. Programs that are not trusted run as the same user and
find this process still there: it makes itself one that they can neither read nor write. What gives the orders sees to it that it has not
been changed from outside (muster_workspace/forked_python.py).
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
# What repeated_runs.py defines, once it is needed.
_REPEATED: Dict[str, Any] = {}


def native(*names: str) -> List[Callable[..., int]]:
    """Functions of the C library, which answer with a number. Raises ImportError."""
    # The C module beneath ctypes, which itself takes longer to import than everything else here.
    import _ctypes

    # A program must find the state of an interpreter that has just started.
    del sys.modules["_ctypes"]
    number = type("c_int", (_ctypes._SimpleCData,), {"_type_": "i"})
    function = type("function", (_ctypes.CFuncPtr,), {"_flags_": _ctypes.FUNCFLAG_CDECL, "_restype_": number})
    library = _ctypes.dlopen(None, 0)  # type: ignore[arg-type]
    return [function(_ctypes.dlsym(library, name)) for name in names]


def seal() -> Callable[[], object]:
    """Keep other processes of this user out. Returns what undoes it in a child. Raises ImportError and OSError."""
    (prctl,) = native("prctl")
    if prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        raise OSError("it can be read by others")
    return lambda: prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)


def _import(names: Sequence[str]) -> None:
    """Import modules of the interpreter's own, and numpy: what others do when they are imported may not outlast a fork."""
    if any(os.access(place or ".", os.W_OK) for place in sys.path):
        raise ImportError("modules could be replaced")
    allowed = set(getattr(sys, "stdlib_module_names", ())) | {"numpy"}
    for name in names:
        if name.split(".")[0] in allowed:
            try:
                __import__(name)
            except ImportError:
                pass


def serve(orders: Any, unseal: Callable[[], object]) -> Tuple[str, List[str]]:
    """Fork a process for each run of an order, and report how it ended. Returns, in the run's process alone, its program and the arguments.
    """
    # Another program could interrupt it between knowing how a run has ended and reporting it.
    _signal.signal(_signal.SIGINT, _signal.SIG_IGN)
    hides_resource = "resource" not in sys.modules

    def begin(streams: List[int], variables: List[str], directory: str) -> None:
        if hides_resource:
            # wait4 imports it, and a program must find the state of an interpreter that has just started.
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
    """Carry an order out. Returns, in a run's process alone, its program and the arguments.

    Several runs in one order go on until one of them leaves something in their directory: then what gives the orders makes it anew.
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
    """Have all runs in one process, where the program can leave nothing behind in it. One that ends early has told of the runs before."""
    path = __file__.rpartition("/")[0] + "/repeated_runs.py"
    if not _REPEATED:
        with open(path, "rb") as file:
            exec(compile(file.read(), path, "exec"), _REPEATED)
    if not _REPEATED["leaves_nothing"](os.path.join(directory, programs[0][0])):
        return False
    process = os.fork()
    if process == 0:
        begin()
        _REPEATED["run_all"](programs, streams, lambda: os.listdir(directory), send, (load, execute, forget))
    os.waitpid(process, 0)
    return True


def _close(descriptors: List[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _take(words: List[str]) -> List[str]:
    """The first word gives the number of words that are removed."""
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
    # All writable directories are made again before the next run: no run would find the compiled modules of another.
    sys.dont_write_bytecode = True
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed()
    unseal()


def load(program: str) -> Dict[str, Any]:
    """The names of the module that the program fills, and its code among them."""
    try:
        with open(program, "rb") as file:
            source = file.read()
    except OSError as error:
        sys.stderr.write("%s: can't open file %r: [Errno %s] %s\n" % (sys.executable, program, error.errno, error.strerror))
        os._exit(2)
    main = type(sys)("__main__")
    path = os.path.join(os.getcwd(), program)
    loader = sys.modules["_frozen_importlib_external"].SourceFileLoader("__main__", path)
    main.__dict__.update(__file__=path, __loader__=loader, __builtins__=sys.modules["builtins"], __cached__=None, __annotations__={})
    sys.modules["__main__"] = main
    try:
        main.__dict__["__code__"] = compile(source, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        _show(sys.exc_info())
        os._exit(1)
    return main.__dict__


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
    """Everything that is done once for all runs. Returns what `seal` returns, and the modules that runs find. Raises ImportError and
    OSError.
    """
    unseal = seal()
    _import(names)
    import atexit  # noqa: F401
    import gc

    # The first compilation makes all types of syntax trees: each run would make them again.
    compile("", "", "exec")
    # The collector of a run would write on pages that it shares with all others, and have each copied.
    gc.collect()
    gc.freeze()
    return unseal, set(sys.modules)


def execute(names: Dict[str, Any]) -> int:
    """Run the program that fills these names, and what it has left for its end. Returns its status."""
    status = 0
    try:
        exec(names.pop("__code__"), names)
    except SystemExit as error:
        status = _status_of(error.code)
    except KeyboardInterrupt:
        status = 130
        _show(sys.exc_info())
    except BaseException:
        status = 1
        _show(sys.exc_info())
    threading = sys.modules.get("threading")
    if threading is not None:
        threading._shutdown()
    sys.modules["atexit"]._run_exitfuncs()
    return status if _flush() else status or 120


def forget(names: Dict[str, Any]) -> None:
    """Take the program apart. Files that are still open are written to the end when nothing has them any more."""
    names.clear()
    sys.modules["gc"].collect()
    _flush()


def _forget_modules(known: Set[str]) -> None:
    # New modules come last: the others are shared with the other runs, and would be copied when they are taken apart.
    new = []
    for name in reversed(sys.modules):
        if name in known:
            break
        new.append(name)
    for name in new:
        module = sys.modules.pop(name)
        if module is not None:
            getattr(module, "__dict__", {}).clear()


def _show(found: Any) -> None:
    kind, error, trace = found
    trace = trace and trace.tb_next
    sys.excepthook(kind, error.with_traceback(trace), trace)


def _status_of(code: object) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    _flush()
    sys.stderr.write("%s\n" % (code,))
    return 1


def _flush() -> bool:
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None and not stream.closed:
                stream.flush()
    except (OSError, ValueError):
        return False
    return True


def run(program: str, arguments: List[str], known: Set[str]) -> None:
    """Become the program, and end the process as the interpreter does. It does not come back."""
    sys.argv[:] = [program] + arguments
    names = load(program)
    status = execute(names)
    _forget_modules(known)
    forget(names)
    os._exit(status)


if __name__ == "__main__":
    run(*_wait())

"""Runs a Python program once, in a process that was forked for it. forked_python.py reads this file."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Set


def load(program: str, code: Any = None) -> Dict[str, Any]:
    """Compiles the program, unless its code is given, as the module `__main__`. Returns the module's names; `__code__` is its code."""
    path = os.path.join(os.getcwd(), program)
    source = _read(program) if code is None else b""
    main = type(sys)("__main__")
    loader = sys.modules["_frozen_importlib_external"].SourceFileLoader("__main__", path)
    main.__dict__.update(__file__=path, __loader__=loader, __builtins__=sys.modules["builtins"], __cached__=None, __annotations__={})
    sys.modules["__main__"] = main
    try:
        main.__dict__["__code__"] = code or compile(source, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        _show(sys.exc_info())
        os._exit(1)
    return main.__dict__


def _read(program: str) -> bytes:
    try:
        with open(program, "rb") as file:
            return file.read()
    except OSError as error:
        sys.stderr.write("%s: can't open file %r: [Errno %s] %s\n" % (sys.executable, program, error.errno, error.strerror))
        os._exit(2)


def execute(names: Dict[str, Any]) -> int:
    """Runs the program, then the functions that it has registered for its exit. Returns its exit status."""
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
    """Frees everything that the program has made. This also flushes and closes the files that it has left open."""
    names.clear()
    sys.modules["gc"].collect()
    _flush()


def _forget_modules(known: Set[str]) -> None:
    # New modules come last. The others share their memory with other runs; freeing them would copy it.
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
    """Runs the program, and ends the process as the interpreter does. Does not return."""
    sys.argv[:] = [program] + arguments
    names = load(program)
    status = execute(names)
    _forget_modules(known)
    forget(names)
    os._exit(status)

"""A warm interpreter, which forks the interpreters of sandboxes: `python3 -I warm_forked_python.py MODULES`, with orders on descriptor 3.

It starts and imports once, which takes most of the time that an interpreter needs until it can fork runs (forked_python.py). It is outside
of all sandboxes, and runs no code of a submission. Each order is for one sandbox: the forked interpreter enters the sandbox, gives up all
privileges, and keeps only the descriptor of its own orders. Only then does it run programs.

The machine's Python runs this file, so it imports nothing of Muster. It reads forked_python.py.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import marshal
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Sequence, Set, Tuple

_ORDERS = 3
_ORDER_BYTES = 1 << 17
_CLONE_NEWPID = 0x2000_0000
# Far more than an order has.
_MOST_DESCRIPTORS = 64


def _load_forking() -> Dict[str, Any]:
    """Returns the names that forked_python.py, beside this file, defines."""
    path = __file__.rpartition("/")[0] + "/forked_python.py"
    names: Dict[str, Any] = {"__name__": "forked_python", "__file__": path, "__builtins__": __builtins__}
    with open(path, "rb") as file:
        exec(compile(file.read(), path, "exec"), names)
    return names


class _Confinement:
    """Holds the system calls with which a forked process enters a sandbox and gives up its privileges. They are prepared once."""

    def __init__(self, native: Callable[..., List[Callable[..., int]]], calls: Sequence[Tuple[str, Tuple[Any, ...]]]) -> None:
        self.enter_namespace, enter_directory = native("setns", "chdir")
        self._enter_root = (enter_directory, (b"/",))
        names = sorted({name for name, _ in calls})
        functions = dict(zip(names, native(*names)))
        self._filters: List[object] = []
        self._calls = [(functions[name], tuple(self._point_at(each) for each in arguments)) for name, arguments in calls]

    def enter(self, namespaces: Sequence[int], groups: Sequence[int]) -> None:
        """Enters the namespaces; the user namespace last, because from within it no other can be entered. Raises OSError."""
        for group in groups:
            os.write(group, b"0")
        _make([(self.enter_namespace, (each, 0)) for each in namespaces])
        _make([self._enter_root, *self._calls])

    def _point_at(self, argument: Any) -> Any:
        """Turns a list of one element, the instructions of a seccomp filter, into the struct sock_fprog that the call takes."""
        if not isinstance(argument, list):
            return argument
        import _ctypes

        del sys.modules["_ctypes"]
        (instructions,) = argument
        byte = type("c_char", (_ctypes._SimpleCData,), {"_type_": "c"})
        array = type("array", (_ctypes.Array,), {"_type_": byte, "_length_": len(instructions)}).from_buffer_copy(instructions)  # type: ignore[attr-defined]
        self._filters.append(array)
        return (len(instructions) // 8).to_bytes(8, sys.byteorder) + _ctypes.addressof(array).to_bytes(8, sys.byteorder)


def _make(calls: Sequence[Tuple[Callable[..., int], Tuple[Any, ...]]]) -> None:
    for function, arguments in calls:
        if function(*arguments) < 0:
            raise OSError("a sandbox cannot be entered")


def _serve(orders: Any, confinement: _Confinement) -> List[str]:
    """Forks an interpreter for each order. Returns only in the interpreter's process: the variables of the order."""
    # The kernel reaps the interpreters. Each ends with the first process of its sandbox.
    _signal.signal(_signal.SIGCHLD, _signal.SIG_IGN)
    own_processes = os.open("/proc/self/ns/pid", os.O_RDONLY)
    while True:
        data, control, _, _ = orders.recvmsg(_ORDER_BYTES, 1024)
        if not data:
            os._exit(0)
        received = memoryview(control[0][2]).cast("i").tolist()
        count, _, text = data.partition(b"\0")
        # If the sandbox has ended, the descriptors of the order are closed, and nothing is forked.
        is_there = confinement.enter_namespace(received[0], _CLONE_NEWPID) == 0
        if is_there and os.fork() == 0:
            _become(confinement, received[1 : int(count)], received[int(count) : -1], received[-1])
            return [os.fsdecode(word) for word in text.split(b"\0") if word]
        for descriptor in received:
            os.close(descriptor)
        if is_there and confinement.enter_namespace(own_processes, _CLONE_NEWPID) != 0:
            os._exit(1)


def _become(confinement: _Confinement, namespaces: Sequence[int], groups: Sequence[int], orders: int) -> None:
    """Runs in the forked process, which ends if it cannot enter the sandbox."""
    try:
        _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
        confinement.enter(namespaces, groups)
        os.dup2(orders, _ORDERS)
        os.closerange(_ORDERS + 1, _MOST_DESCRIPTORS)
    except BaseException:
        os._exit(1)


def _main() -> Tuple[Callable[..., None], str, List[str], Set[str]]:
    import _socket

    forking = _load_forking()
    orders = _socket.socket(fileno=_ORDERS)
    _signal.signal(_signal.SIGINT, _signal.SIG_IGN)
    confinement = _Confinement(forking["native"], marshal.loads(orders.recv(_ORDER_BYTES)))
    unseal, known = forking["prepare"](sys.argv[1:])
    variables = _serve(orders, confinement)
    orders.send(b"ready %d" % os.getpid())
    os.environ.clear()
    os.environ.update(variable.partition("=")[::2] for variable in variables)
    return (forking["_RUN"]["run"], *forking["serve"](orders, unseal), known)


_run, *_rest = _main()
_run(*_rest)

"""A warm interpreter: `python3 -I warm_forked_python.py MODULES`, orders at descriptor 3. Interpreters of sandboxes are forked from it.

It has started and imported once, which takes most of the time of an interpreter that forks runs (forked_python.py). It runs outside of the
sandboxes, and nothing of any submission: each order is for one sandbox, and what is forked for it enters the sandbox, gives up all
privileges, and keeps no descriptor but that of its own orders. Only then does it run programs.

Whatever Python the machine has runs this file, so it stands alone, as forked_python.py does, of which it runs the code.
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
# A sandbox is sent by far fewer.
_MOST_DESCRIPTORS = 64


def _load_forking() -> Dict[str, Any]:
    """What forked_python.py defines. It lies beside this file."""
    path = __file__.rpartition("/")[0] + "/forked_python.py"
    names: Dict[str, Any] = {"__name__": "forked_python", "__file__": path, "__builtins__": __builtins__}
    with open(path, "rb") as file:
        exec(compile(file.read(), path, "exec"), names)
    return names


class _Confinement:
    """How a forked process gets into a sandbox and gives up what it has, worked out once."""

    def __init__(self, native: Callable[..., List[Callable[..., int]]], calls: Sequence[Tuple[str, Tuple[Any, ...]]]) -> None:
        self.enter_namespace, enter_directory = native("setns", "chdir")
        self._enter_root = (enter_directory, (b"/",))
        names = sorted({name for name, _ in calls})
        functions = dict(zip(names, native(*names)))
        self._filters: List[object] = []
        self._calls = [(functions[name], tuple(self._point_at(each) for each in arguments)) for name, arguments in calls]

    def enter(self, namespaces: Sequence[int], groups: Sequence[int]) -> None:
        """The namespace of users comes last: from it no other can be entered. Raises OSError."""
        for group in groups:
            os.write(group, b"0")
        _make([(self.enter_namespace, (each, 0)) for each in namespaces])
        _make([self._enter_root, *self._calls])

    def _point_at(self, argument: Any) -> Any:
        """The instructions of a filter of system calls come as a list of one text: the call wants a struct sock_fprog."""
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
    """Fork an interpreter for each order. Returns, in the interpreter's process alone, what the order says."""
    # The kernel buries them: each belongs to its sandbox, whose first process ends it.
    _signal.signal(_signal.SIGCHLD, _signal.SIG_IGN)
    own_processes = os.open("/proc/self/ns/pid", os.O_RDONLY)
    while True:
        data, control, _, _ = orders.recvmsg(_ORDER_BYTES, 1024)
        if not data:
            os._exit(0)
        received = memoryview(control[0][2]).cast("i").tolist()
        count, _, text = data.partition(b"\0")
        # Should the sandbox be gone, all that is left to do is to close its descriptors.
        is_there = confinement.enter_namespace(received[0], _CLONE_NEWPID) == 0
        if is_there and os.fork() == 0:
            _become(confinement, received[1 : int(count)], received[int(count) : -1], received[-1])
            return [os.fsdecode(word) for word in text.split(b"\0") if word]
        for descriptor in received:
            os.close(descriptor)
        if is_there and confinement.enter_namespace(own_processes, _CLONE_NEWPID) != 0:
            os._exit(1)


def _become(confinement: _Confinement, namespaces: Sequence[int], groups: Sequence[int], orders: int) -> None:
    """In the forked process, which ends where it cannot enter the sandbox."""
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
    return (forking["run"], *forking["serve"](orders, unseal), known)


_run, *_rest = _main()
_run(*_rest)

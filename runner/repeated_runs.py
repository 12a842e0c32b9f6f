"""Runs a trusted program several times in one process, if a run can leave nothing in the process for the next.

forked_python.py reads this file for an order with several runs. A program is harmless if it uses only the syntax, the builtins and the
functions of modules that are listed here. Every run of another program gets its own process. Each run of a harmless program has new names
and streams. Its code and the modules that it imports stay loaded, and the listed functions keep nothing of a call. The lists are short on
purpose.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, List, Sequence, Set, Tuple

_ONLY_SYNTAX = 0x400
_SYNTAX = """Module Expr Assign AugAssign AnnAssign For While If Return FunctionDef Lambda arguments arg Name Load Store Constant Num Str
Bytes NameConstant BinOp UnaryOp BoolOp Compare IfExp Call keyword Attribute Subscript Slice Index List Tuple Set Dict
ListComp SetComp DictComp GeneratorExp comprehension Starred JoinedStr FormattedValue Yield YieldFrom Import ImportFrom alias
Break Continue Pass Assert Raise Try ExceptHandler NamedExpr Global Nonlocal Add Sub Mult Div FloorDiv Mod Pow MatMult LShift
RShift BitAnd BitOr BitXor Invert Not UAdd USub And Or Eq NotEq Lt LtE Gt GtE Is IsNot In NotIn""".split()
_BUILTINS = """abs all any ascii bin bool bytearray bytes callable chr complex dict divmod enumerate filter float format frozenset hex
input int isinstance iter len list map max memoryview min next oct ord pow print range repr reversed round set slice sorted
str sum tuple zip __name__ ArithmeticError AssertionError EOFError Exception IndexError KeyError LookupError OverflowError
RecursionError RuntimeError StopIteration SystemExit TypeError UnicodeDecodeError ValueError ZeroDivisionError""".split()
_MODULES = {
    "base64": "b64decode b64encode",
    "binascii": "crc32 hexlify unhexlify",
    "bisect": "bisect bisect_left bisect_right insort insort_left insort_right",
    "collections": "Counter OrderedDict defaultdict deque",
    "fractions": "Fraction",
    "functools": "cache cmp_to_key lru_cache partial reduce",
    "heapq": "heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest",
    "itertools": "accumulate chain combinations compress count cycle dropwhile groupby islice permutations product repeat "
    "starmap takewhile zip_longest",
    "json": "JSONDecodeError dump dumps load loads",
    "math": "acos asin atan atan2 ceil comb copysign cos cosh e exp fabs factorial floor fmod fsum gcd hypot inf isclose "
    "isfinite isinf isnan isqrt lcm log log10 log2 modf nan perm pi pow prod radians sin sinh sqrt tan tanh tau "
    "trunc",
    "numpy": "abs add all any arange argmax argmin argsort array asarray clip concatenate cumprod cumsum diff dot einsum exp "
    "eye float32 float64 frombuffer full int32 int64 isfinite isnan linspace log matmul max maximum mean median min "
    "minimum multiply ones outer prod round sort sqrt stack std subtract sum transpose unique var where zeros",
    "operator": "add attrgetter itemgetter mul sub",
    "re": "compile escape findall finditer fullmatch match search split sub",
    "statistics": "fmean mean median mode pstdev stdev",
    "string": "ascii_letters ascii_lowercase ascii_uppercase digits hexdigits punctuation whitespace",
    "struct": "calcsize iter_unpack pack unpack unpack_from",
    "sys": "argv byteorder exit maxsize stderr stdin stdout",
    "zlib": "adler32 compress crc32 decompress",
}
# A program may use attributes of these objects only. Such an attribute is a method, or the stream that the object wraps.
_STREAMS = ("stderr", "stdin", "stdout")
# Attributes that lead from a function or an error to objects that all runs share.
_LEADING_OUT = ("_", "ag_", "co_", "cr_", "f_", "func_", "gi_", "tb_")


def leaves_nothing(path: str) -> bool:
    """Returns whether each run of the program finds the same state as in a new process."""
    try:
        with open(path, "rb") as file:
            tree = compile(file.read(), "", "exec", _ONLY_SYNTAX, dont_inherit=True)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    nodes = list(_walk(tree, type(tree).__mro__[-2]))
    if not all(type(node).__name__ in _SYNTAX for node in nodes):
        return False
    modules: Dict[str, str] = {}
    known: Set[str] = set(_BUILTINS)
    for node in nodes:
        kind = type(node).__name__
        if kind == "Import":
            modules.update((each.asname or each.name, each.name) for each in node.names)
        elif kind == "ImportFrom" and not _takes_harmless(node):
            return False
        known.update(_list_bound(node, kind))
    inside = {id(node.value) for node in nodes if type(node).__name__ == "Attribute"}
    return all(name in _MODULES for name in modules.values()) and all(_is_harmless(node, modules, known, inside) for node in nodes)


def _walk(node: Any, base: type) -> Iterator[Any]:
    left = [node]
    while left:
        node = left.pop()
        yield node
        for name in node._fields:
            value = getattr(node, name, None)
            left += [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, base)]


def _takes_harmless(node: Any) -> bool:
    harmless = _MODULES.get(node.module or "", "").split()
    # Under another name, a stream would still be that of this run in the next.
    return not node.level and node.module != "sys" and all(each.name in harmless for each in node.names)


def _list_bound(node: Any, kind: str) -> List[str]:
    """Lists the names that the program itself binds."""
    if kind == "Name":
        return [] if type(node.ctx).__name__ == "Load" else [node.id]
    if kind == "ImportFrom":
        return [each.asname or each.name for each in node.names]
    if kind == "arg":
        return [node.arg]
    return [node.name] if kind in ("FunctionDef", "ExceptHandler") else []


def _is_harmless(node: Any, modules: Dict[str, str], known: Set[str], inside: Set[int]) -> bool:
    kind = type(node).__name__
    if kind == "Name":
        if node.id in modules:
            # A module may not be assigned to a name or passed to a function.
            return id(node) in inside and node.id not in known
        return node.id in known
    if kind != "Attribute":
        return True
    if type(node.ctx).__name__ != "Load" or node.attr.startswith(_LEADING_OUT):
        return False
    base = node.value
    if type(base).__name__ == "Name" and base.id in modules:
        return node.attr in _MODULES[modules[base.id]].split()
    if type(base).__name__ == "Attribute" and type(base.value).__name__ == "Name" and base.value.id in modules:
        return base.attr in _STREAMS or modules[base.value.id] == "string"
    return True


def run_all(
    programs: Sequence[List[str]],
    streams: List[int],
    list_left: Callable[[], List[str]],
    send: Callable[[bytes], object],
    steps: Tuple[Callable[..., Dict[str, Any]], Callable[[Dict[str, Any]], int], Callable[[Dict[str, Any]], None]],
) -> None:
    """Carries out each run, with its arguments and its three streams, and reports its end. Stops after a run that leaves a file.

    Ends the process.
    """
    import resource
    from time import process_time

    load, execute, forget = steps
    opened = [(stream.encoding, stream.errors) for stream in (sys.stdin, sys.stdout, sys.stderr)]
    code = None
    for words in programs:
        before = process_time()
        for target in range(3):
            os.dup2(streams.pop(0), target)
        sys.stdin, sys.stdout, sys.stderr = (
            open(at, "w" if at else "r", encoding=encoding, errors=errors, newline="\n", closefd=False)
            for at, (encoding, errors) in enumerate(opened)
        )
        sys.argv[:] = words
        names = load(words[0], code)
        code = names["__code__"]
        status = execute(names)
        forget(names)
        send(b"%d %r %d" % (status << 8, process_time() - before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))
        if list_left():
            break
    os._exit(0)

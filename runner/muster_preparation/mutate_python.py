"""Breaks covered Python code in small ways: changes an operator or a constant, removes a branch or a call.

Reads JSON from stdin: `files` by path and `covered` lines by path. Prints a JSON list of mutations, each with the range of bytes that it
replaces. No code of the files is run.
"""

import ast
import json
import sys
from collections.abc import Iterator, Mapping

MOST = 2000
# First byte of the replaced range, the first byte after it, and the replacement.
Change = tuple[int, int, str]
COMPARISONS: dict[type[ast.AST], str] = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="}
ARITHMETIC: dict[type[ast.AST], str] = {ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.FloorDiv: "*", ast.Mod: "+"}
BOOLEAN: dict[type[ast.AST], str] = {ast.And: "or", ast.Or: "and"}
Others = Mapping[type[ast.AST], str]
SYMBOLS: dict[type[ast.AST], str] = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.Add: "+"}
SYMBOLS.update({ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%", ast.And: "and", ast.Or: "or"})


def main() -> None:
    """Prints the mutations, those of each file in the order of their lines."""
    asked = json.load(sys.stdin)
    found = []
    for path, text in sorted(asked["files"].items()):
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            continue
        source = _Source(text)
        covered = set(asked["covered"].get(path, []))
        for function in (node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))):
            documentation = (ast.get_docstring(function) or "")[:2000]
            names = {"path": path, "function": function.name, "documentation": documentation}
            for kind, line, (start, end, text) in _mutate_function(function, source):
                if line in covered and _parses(source.replaced(start, end, text)):
                    found.append({**names, "kind": kind, "line": line, "start": start, "end": end, "text": text})
    json.dump(found[:MOST], sys.stdout)


class _Source:
    """A text with its byte offsets. `ast` counts columns in bytes of UTF-8."""

    def __init__(self, text: str) -> None:
        self._bytes = text.encode()
        self._starts = [0]
        for line in self._bytes.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def offset(self, line: int, column: int) -> int:
        return self._starts[line - 1] + column

    def replaced(self, start: int, end: int, text: str) -> str:
        return (self._bytes[:start] + text.encode() + self._bytes[end:]).decode()

    def between(self, start: int, end: int) -> str:
        return self._bytes[start:end].decode()

    def start(self, node: ast.expr | ast.stmt) -> int:
        return self.offset(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.stmt) -> int:
        return self.offset(node.end_lineno or node.lineno, node.end_col_offset or 0)


def _mutate_function(function: ast.FunctionDef | ast.AsyncFunctionDef, source: _Source) -> Iterator[tuple[str, int, Change]]:
    for node in ast.walk(function):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            yield from _mutate_operator(node.left, node.comparators[0], type(node.ops[0]), COMPARISONS, source)
        elif isinstance(node, ast.BinOp):
            yield from _mutate_operator(node.left, node.right, type(node.op), ARITHMETIC, source)
        elif isinstance(node, ast.BoolOp):
            yield from _mutate_operator(node.values[0], node.values[1], type(node.op), BOOLEAN, source)
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            yield "constant", node.lineno, (source.start(node), source.end(node), str(node.value + 1))
        elif isinstance(node, ast.If) and not node.orelse:
            yield "branch", node.test.lineno, (source.start(node.test), source.end(node.test), "False")
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield "call", node.lineno, (source.start(node), source.end(node), "pass")


def _mutate_operator(
    left: ast.expr, right: ast.expr, operator: type[ast.AST], others: Others, source: _Source
) -> Iterator[tuple[str, int, Change]]:
    if operator not in others:
        return
    start, end = source.end(left), source.start(right)
    middle = source.between(start, end)
    symbol = SYMBOLS[operator]
    if middle.count(symbol) == 1:
        yield "operator", left.lineno, (start, end, middle.replace(symbol, others[operator]))


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


if __name__ == "__main__":
    main()

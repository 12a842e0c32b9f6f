"""The Python of the documentation: it parses, and what it imports of Muster is there under that name."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = [ROOT / "clients/python/src", ROOT / "runner", ROOT]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "clients/python/README.md"]


def blocks() -> Iterator[tuple[str, str]]:
    for page in PAGES:
        text = page.read_text()
        for match in re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            yield f"{page.name}:{text.count(chr(10), 0, match.start()) + 1}", match[1]


BLOCKS = dict(blocks())


@pytest.mark.parametrize("where", BLOCKS)
def test_a_block_parses_and_imports_what_there_is(where: str) -> None:
    tree = compile(BLOCKS[where], where, "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                assert is_elsewhere(name.name) or find_module(name.name), f"there is no module {name.name}"
        elif isinstance(node, ast.ImportFrom) and node.module is not None and not is_elsewhere(node.module):
            for name in node.names:
                assert has_name(node.module, name.name), f"{node.module} has no {name.name}"


def test_there_are_blocks() -> None:
    assert len(BLOCKS) > 20


def is_elsewhere(module: str) -> bool:
    return module.partition(".")[0] not in ("muster", "muster_client", "muster_runner", "examples")


def find_module(module: str) -> Path | None:
    path = Path(*module.split("."))
    places = [source / name for source in SOURCES for name in (path.with_suffix(".py"), path / "__init__.py")]
    return next((place for place in places if place.is_file()), None)


def has_name(module: str, name: str) -> bool:
    """Whether the module defines the name or imports it, or is a package with a module of that name."""
    if find_module(f"{module}.{name}") is not None:
        return True
    found = find_module(module)
    if found is None:
        return False
    nodes = ast.walk(ast.parse(found.read_text()))
    return any(name in names_of(node) for node in nodes)


def names_of(node: ast.AST) -> list[str]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return [node.name]
        case ast.ImportFrom():
            return [alias.asname or alias.name for alias in node.names]
        case ast.Assign():
            return [target.id for target in node.targets if isinstance(target, ast.Name)]
        case _:
            return []

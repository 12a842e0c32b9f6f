"""Modules that came along, and what is left of them."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster_runner.carried_code import find, forget, visit


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def brings(directory: Path, number: int) -> Path:
    """A package, and a module that imports it."""
    (directory / "brought").mkdir(parents=True)
    (directory / "brought" / "__init__.py").write_text(f"def number(): return {number}\n")
    (directory / "outer_brought.py").write_text("import brought, brought.inner\nnumber = brought.number\n")
    (directory / "brought" / "inner.py").write_text("")
    return directory


def brought() -> set[str]:
    return {name for name in sys.modules if "brought" in name}


def test_modules_of_a_visit_are_forgotten_and_those_of_the_next_directory_are_found(tmp_path: Path) -> None:
    for number in (1, 2):
        directory = brings(tmp_path / str(number), number)
        visited = visit(directory)
        assert find("outer_brought:number", directory)() == number
        assert brought() == {"outer_brought", "brought", "brought.inner"}
        forget(visited)
        assert brought() == set()
        assert str(directory) not in sys.path


def test_modules_of_other_directories_stay(tmp_path: Path) -> None:
    stays = visit(brings(tmp_path / "stays", 1))
    assert find("brought:number", stays.directory)() == 1
    goes = tmp_path / "goes"
    goes.mkdir()
    (goes / "goes_brought.py").write_text("import brought\nnumber = brought.number\n")
    visited = visit(goes)
    assert find("goes_brought:number", goes)() == 1
    forget(visited)
    assert brought() == {"brought"}


def test_all_modules_are_examined_when_an_earlier_one_has_gone_or_was_imported_again(tmp_path: Path) -> None:
    first = visit(brings(tmp_path / "first", 1))
    find("outer_brought:number", first.directory)
    other = tmp_path / "other"
    other.mkdir()
    (other / "later_brought.py").write_text("def number(): return 3\n")
    second = visit(other)
    find("later_brought:number", other)
    forget(first)
    assert brought() == {"later_brought"}
    forget(second)
    assert brought() == set()

"""Imports Python code that a suite or a checkpoint contains."""

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import takewhile
from pathlib import Path
from types import ModuleType
from typing import Any

# The largest number of modules that a message lists.
MOST_LISTED = 12


class CodeError(Exception):
    """An entry `module:name` that does not lead to a callable. The message says why."""


@dataclass(frozen=True)
class Visit:
    """A directory whose modules can be imported."""

    directory: Path
    # The last module that was imported before the visit. Modules up to it are not from the directory.
    before: str


# Directories that are being visited.
_visited: list[Path] = []
# The modules that `keep` has kept, for the next visit to the directory.
_kept: dict[Path, dict[str, ModuleType]] = {}


def visit(directory: Path) -> Visit:
    """Makes the modules of `directory` importable, ahead of all others."""
    before = next(reversed(sys.modules))
    sys.path.insert(0, str(directory))
    _visited.append(directory)
    # Python's cached listings of the directory may be outdated. To empty all caches would make Python search all installed packages again.
    for known in [path for path in sys.path_importer_cache if path.startswith(str(directory))]:
        del sys.path_importer_cache[known]
    kept = _kept.pop(directory, {})
    # If a module of the same name was imported meanwhile, it stays: importing the directory's module then fails, and says that another
    # hides it.
    if not any(name in sys.modules for name in kept):
        sys.modules.update(kept)
    return Visit(directory, before)


def forget(visited: Visit) -> None:
    """Undoes `visit`, so that a module of the next suite or checkpoint is not confused with one of the same name from here."""
    _leave(visited)


def keep(visited: Visit) -> None:
    """Undoes `visit`, but keeps the modules: the next import from the directory gets them at once."""
    _kept[visited.directory] = _leave(visited)


def _leave(visited: Visit) -> dict[str, ModuleType]:
    """Makes the directory unimportable. @returns the modules from it, in the order of their import."""
    if visited.directory in _visited:
        _visited.remove(visited.directory)
    while str(visited.directory) in sys.path:
        sys.path.remove(str(visited.directory))
    own = [name for name in _list_imported_since(visited.before) if _lies_in(sys.modules[name], visited.directory)]
    return {name: sys.modules.pop(name) for name in reversed(own)}


def _list_imported_since(before: str) -> list[str]:
    """Lists the modules that were imported since, the latest first. Reading hundreds of others would copy memory that a forked process
    shares (shared_memory.py).
    """
    return list(takewhile(lambda name: name != before, reversed(sys.modules)))


def strip_directories(text: str) -> str:
    """Shortens paths to those that the author of a suite or a checkpoint knows, without the directory in the sandbox."""
    for directory in _visited:
        text = text.replace(f"{directory}/", "")
    return text


def find(entry: str, directory: Path | None) -> Callable[..., Any]:
    """Returns the callable at `module:name`; the name may be dotted.

    @param directory: the code of the suite or checkpoint. A module that exists in it must come from there. @raises CodeError; whatever the
    module raises while it is imported passes through.
    """
    module_name, _, name = entry.partition(":")
    if not module_name or not name:
        raise CodeError(f'"{entry}" is not of the form "module:name"')
    found: Any = _import(module_name, directory)
    for part in name.split("."):
        if not hasattr(found, part):
            raise CodeError(f'module "{module_name}" has no "{name}"{_suggest(part, found)}')
        found = getattr(found, part)
    if not callable(found):
        raise CodeError(f'"{entry}" is a {type(found).__name__}, expected a function or a class')
    factory: Callable[..., Any] = found
    return factory


def _suggest(name: str, found: Any) -> str:
    meant = get_close_matches(name, [there for there in vars(found) if not there.startswith("_")], 1) if hasattr(found, "__dict__") else []
    return f'; did you mean "{meant[0]}"?' if meant else ""


def _import(name: str, directory: Path | None) -> ModuleType:
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        raise CodeError(f'there is no module "{error.name}": {_describe_search(directory)}') from None
    top = name.partition(".")[0]
    if directory and _holds(directory, top) and not _lies_in(sys.modules[top], directory):
        raise CodeError(f'module "{top}" has the name of another module that was imported first: rename it')
    return module


def _describe_search(directory: Path | None) -> str:
    if directory is None:
        return f'it is not installed for {sys.executable}, and the suite brings no modules of its own ("files": their directory)'
    there = sorted(path.stem for path in directory.glob("*.py"))
    listed = ", ".join(there[:MOST_LISTED]) + (", …" if len(there) > MOST_LISTED else "")
    return (
        f"it is neither installed nor in the directory that travels along, which has {f'the modules {listed}' if there else 'no modules'}"
    )


def _holds(directory: Path, module: str) -> bool:
    return (directory / f"{module}.py").is_file() or (directory / module / "__init__.py").is_file()


def _lies_in(module: ModuleType | None, directory: Path) -> bool:
    spec = getattr(module, "__spec__", None)
    places = [getattr(spec, "origin", None), *(getattr(spec, "submodule_search_locations", None) or ())]
    return any(isinstance(place, str) and place.startswith(f"{directory}/") for place in places)

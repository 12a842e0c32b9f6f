"""Installs what a Python repository's tests need, through the gate to the registries, and prints what was installed.

Reads JSON from stdin: `target`, the directory to install to, and `environment`, additional variables for pip. Prints JSON: `pinned` and
`problem`.
"""

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from configparser import ConfigParser
from importlib import metadata
from pathlib import Path

from muster_preparation.gate import open_gate
from muster_preparation.installing import answer, run_manager

TESTING = ("test", "tests", "testing", "dev", "develop")
FILES = (
    "requirements.txt",
    "requirements-test.txt",
    "requirements_test.txt",
    "test-requirements.txt",
    "tests/requirements.txt",
    "requirements-dev.txt",
    "requirements_dev.txt",
    "dev-requirements.txt",
    "requirements/test.txt",
    "requirements/tests.txt",
    "requirements/dev.txt",
)
# Tools that analyse code, which tests do not use. The workspace already has pytest.
LINTERS = {"flake8", "mypy", "ruff", "black", "isort", "pylint", "pre-commit", "codecov"}
TOOLS = LINTERS | {"pytest", "tox", "nox", "sphinx", "build", "twine", "coverage", "pytest-cov", "wheel", "setuptools", "pip"}


def main() -> None:
    """Installs the packages, and reports them."""
    asked = json.load(sys.stdin)
    os.makedirs(asked["target"], exist_ok=True)
    wanted = [each for each in _list_requirements() if _parse_name(each) not in TOOLS]
    if not wanted:
        _describe_own(asked["target"])
        answer([])
        return
    environment = {**open_gate(), **asked["environment"]}
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]
    command = [*pip, "install", "--quiet", "--no-compile", "--no-cache-dir", "--target", asked["target"], *wanted]
    problem = run_manager(command, environment, "/tmp")
    if problem is not None:
        answer([], problem)
        return
    _remove_own(asked["target"])
    listing = [*pip, "freeze", "--all", "--path", asked["target"]]
    frozen = subprocess.run(listing, env=environment, capture_output=True, text=True, check=True)
    _describe_own(asked["target"])
    answer(frozen.stdout.split("\n")[:-1])


def _list_requirements() -> list[str]:
    found: list[str] = []
    project = _read_pyproject()
    declared = project.get("project", {})
    found += declared.get("dependencies", [])
    for group in TESTING:
        found += declared.get("optional-dependencies", {}).get(group, [])
        found += [each for each in project.get("dependency-groups", {}).get(group, []) if isinstance(each, str)]
    poetry = project.get("tool", {}).get("poetry", {})
    for table in (poetry, poetry.get("group", {}).get("test", {}), poetry.get("group", {}).get("dev", {})):
        found += _convert_poetry(table.get("dependencies", {})) + _convert_poetry(table.get("dev-dependencies", {}))
    config = ConfigParser(interpolation=None)
    config.read("setup.cfg", encoding="utf-8")
    found += _split_requirements(config.get("options", "install_requires", fallback=""))
    for group in TESTING:
        found += _split_requirements(config.get("options.extras_require", group, fallback=""))
    setup = _read_setup()
    for each in ("install_requires", "tests_require"):
        found += _list_given(setup.get(each))
    extras = setup.get("extras_require")
    for group in TESTING:
        found += _list_given(extras.get(group)) if isinstance(extras, dict) else []
    for path in FILES:
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                found += _split_requirements(file.read())
    return sorted({each for each in found if isinstance(each, str) and _parse_name(each) != _name_own_package()})


def _convert_poetry(table: dict[str, object]) -> list[str]:
    """Converts Poetry's table of dependencies to requirements: `^1.2` and `~1.2` become `>=1.2`."""
    found = []
    for name, wanted in table.items():
        version = wanted if isinstance(wanted, str) else ""
        found.append(name + re.sub(r"^[\^~]", ">=", version) if re.match(r"[\^~<>=!]", version) else name)
    return [each for each in found if _parse_name(each) != "python"]


def _name_own_package() -> str:
    """Returns the name of the repository's own package; empty when no file names it."""
    config = ConfigParser(interpolation=None)
    config.read("setup.cfg", encoding="utf-8")
    declared = _read_pyproject().get("project", {}).get("name", "") or config.get("metadata", "name", fallback="")
    return _parse_name(declared or _read_setup().get("name", "") or _read_release_field("Name: "))


def _read_setup() -> dict:  # type: ignore[type-arg]
    """Returns the arguments of `setup` that are literals. setup.py is parsed, not run."""
    try:
        with open("setup.py", encoding="utf-8") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return {}
    found = {}
    assigned = _Assigned(tree)
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        if getattr(call.func, "id", getattr(call.func, "attr", "")) != "setup":
            continue
        for keyword in call.keywords:
            try:
                found[keyword.arg] = ast.literal_eval(assigned.visit(keyword.value))
            except (ValueError, TypeError):
                continue
    return found


class _Assigned(ast.NodeTransformer):
    """Replaces names by the literals that the module assigns to them."""

    def __init__(self, tree: ast.Module) -> None:
        self._values = {
            target.id: node.value
            for node in tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name) and isinstance(node.value, (ast.Constant, ast.List, ast.Tuple, ast.Dict))
        }

    def visit_Name(self, node: ast.Name) -> ast.expr:  # `ast` requires this name.
        return self._values.get(node.id, node)


def _read_release_field(field: str) -> str:
    """Returns a field of a source distribution's metadata; empty when there is none."""
    if not os.path.isfile("PKG-INFO"):
        return ""
    with open("PKG-INFO", encoding="utf-8", errors="replace") as file:
        return next((line[len(field) :].strip() for line in file if line.startswith(field)), "")


def _describe_own(target: str) -> None:
    """Writes the metadata of the repository's package, whose code is not installed: some packages look up their own version."""
    if not _name_own_package():
        return
    version = _read_pyproject().get("project", {}).get("version", "") or _read_release_field("Version: ") or "0.0.0"
    _write_version_files(os.path.dirname(target), version)
    place = os.path.join(target, f"{_name_own_package().replace('-', '_')}-{version}.dist-info")
    os.makedirs(place, exist_ok=True)
    with open(os.path.join(place, "METADATA"), "w", encoding="utf-8") as file:
        file.write(f"Metadata-Version: 2.1\nName: {_name_own_package()}\nVersion: {version}\n")


def _write_version_files(top: str, version: str) -> None:
    """Writes the modules that a build would generate from git's tags, beside the code that imports them."""
    tools = _read_pyproject().get("tool", {})
    settings = [tools.get("setuptools_scm", {}), tools.get("pdm", {}).get("version", {})]
    settings.append(tools.get("hatch", {}).get("build", {}).get("hooks", {}).get("vcs", {}))
    named = {each.get(key) for each in settings for key in ("version_file", "write_to", "version-file")}
    for path in (os.path.normpath(each) for each in named if isinstance(each, str) and each.endswith(".py")):
        if path.startswith(("/", "..")):
            continue
        os.makedirs(os.path.dirname(os.path.join(top, path)), exist_ok=True)
        with open(os.path.join(top, path), "w", encoding="utf-8") as file:
            parts = tuple(int(part) for part in re.findall(r"\d+", version)[:3])
            file.write(f"__version__ = version = {version!r}\n__version_tuple__ = version_tuple = {parts!r}\n")
            file.write("__commit_id__ = commit_id = None\n")


def _remove_own(target: str) -> None:
    """Removes a release of the repository's own package that a dependency has installed: it may contain the fix."""
    for distribution in metadata.distributions(path=[target]):
        if not _name_own_package() or _parse_name(distribution.metadata["Name"]) != _name_own_package():
            continue
        for file in distribution.files or []:
            place = Path(os.path.normpath(str(file.locate())))
            if place.is_relative_to(target):
                place.unlink(missing_ok=True)


def _list_given(value: object) -> list[str]:
    """Returns requirements from setup.py, which are a list or lines of text."""
    if isinstance(value, str):
        return _split_requirements(value)
    return [each for each in value if isinstance(each, str)] if isinstance(value, (list, tuple)) else []


def _split_requirements(text: str) -> list[str]:
    """Returns the plain requirements of a text; leaves out options, paths and URLs."""
    lines = (line.split(" #")[0].strip() for line in text.splitlines())
    return [line for line in lines if re.match(r"[A-Za-z0-9]", line) and "://" not in line]


def _parse_name(requirement: str) -> str:
    return re.split(r"[^A-Za-z0-9._-]", requirement.strip(), maxsplit=1)[0].lower().replace("_", "-")


def _read_pyproject() -> dict:  # type: ignore[type-arg]
    try:
        with open("pyproject.toml", "rb") as file:
            return tomllib.load(file)
    except (OSError, ValueError):
        return {}


if __name__ == "__main__":
    main()

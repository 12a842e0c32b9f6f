"""Prepares repositories from which tasks are made: installs what their tests need, and searches for leaked fixes."""

import importlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from runner_process import RUNNER

from muster_preparation import find_leaks, installing
from muster_preparation.install_javascript import TOOLS
from muster_workspace.processes import Accounts


def _write_wheel(
    directory: Path, name: str, version: str, code: str, requires: str = ""
) -> None:
    with zipfile.ZipFile(
        directory / f"{name}-{version}-py3-none-any.whl", "w"
    ) as wheel:
        info = f"{name}-{version}.dist-info"
        wheel.writestr(f"{name}.py", code)
        needed = f"Requires-Dist: {requires}\n" if requires else ""
        wheel.writestr(
            f"{info}/METADATA",
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needed}",
        )
        wheel.writestr(
            f"{info}/WHEEL",
            "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        wheel.writestr(
            f"{info}/RECORD",
            f"{name}.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n",
        )


def test_an_installed_release_of_the_package_itself_is_removed(
    tmp_path: Path,
) -> None:
    """The release may hold the fix. Metadata with the repository's version stays, because some packages look up their own version."""
    wheels, repository, target = (
        tmp_path / "wheels",
        tmp_path / "repository",
        tmp_path / "target",
    )
    wheels.mkdir()
    repository.mkdir()
    _write_wheel(wheels, "sums", "9.0", "def mean(numbers):\n    return 0.0\n")
    _write_wheel(wheels, "helper", "1.0", "", requires="sums")
    (repository / "setup.py").write_text(
        'from setuptools import setup\nNEEDED = ["helper"]\nsetup(name="sums", install_requires=NEEDED)\n'
    )
    (repository / "PKG-INFO").write_text("Name: sums\nVersion: 0.1\n")
    asked = {
        "target": str(target),
        "environment": {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)},
    }
    command = [sys.executable, "-B", "-m", "muster_preparation.install_python"]
    environment = {**os.environ, "PYTHONPATH": str(RUNNER)}
    done = subprocess.run(
        command,
        input=json.dumps(asked),
        cwd=repository,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == {"pinned": ["helper==1.0"], "problem": None}
    names = {path.name for path in target.iterdir()}
    assert {"helper.py", "sums-0.1.dist-info"} <= names
    assert not {"sums.py", "sums-9.0.dist-info"} & {
        path.name for path in target.rglob("*") if path.is_file()
    }


class _Limit:
    """The time of a package manager, which is over when it is read for the third time."""

    deadline = 0.0
    made: tuple[object, ...] = ()
    looks = 0

    def __init__(
        self, _start: float, seconds: float, _accounts: Accounts, *, most_waiting: float
    ) -> None:
        _Limit.made, _Limit.looks = (seconds, most_waiting), 0

    def is_over(self) -> bool:
        _Limit.looks += 1
        return _Limit.looks == 3


def test_a_package_manager_ends_when_its_time_without_waits_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert installing.run_manager(["true"], dict(os.environ), "/") is None
    failing = ["sh", "-c", "echo out; echo no such package >&2; exit 1"]
    problem = installing.run_manager(failing, dict(os.environ), "/") or ""
    assert problem.endswith("exit 1: no such package")
    monkeypatch.setattr(installing, "TimeLimit", _Limit)
    problem = installing.run_manager(["sleep", "infinity"], dict(os.environ), "/")
    assert (
        problem == "sleep took more than 900 s, besides what it waited for a processor"
    )
    assert (_Limit.made, _Limit.looks) == ((900, 1800), 3)


def test_modules_that_a_build_writes_from_tags_are_created(tmp_path: Path) -> None:
    """Code imports its version from them, and a copy of a repository has no tags."""
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "sums"\ndynamic = ["version"]\n'
        '[tool.hatch.build.hooks.vcs]\nversion-file = "src/sums/_version.py"\n'
        '[tool.setuptools_scm]\nwrite_to = "../outside.py"\n'
    )
    target = tmp_path / "made" / ".dependencies"
    done = subprocess.run(
        [sys.executable, "-B", "-m", "muster_preparation.install_python"],
        input=json.dumps({"target": str(target), "environment": {}}),
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(RUNNER)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["problem"] is None
    written = (tmp_path / "made/src/sums/_version.py").read_text()
    assert "__version__ = version = '0.0.0'\n" in written
    assert "version_tuple = (0, 0, 0)\n" in written
    assert not (tmp_path / "outside.py").exists()


def test_a_test_that_a_class_inherits_is_reported_with_the_file_of_that_class(
    tmp_path: Path,
) -> None:
    """The test's id begins with that file, whereas pytest would report the file in which the test is written."""
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "__init__.py").write_text(
        "class Sums:\n    def test_adds(self):\n        assert self.add(1, 1) == 2\n"
    )
    (tests / "test_sums.py").write_text(
        "from . import Sums\n\n\nclass TestSums(Sums):\n    add = staticmethod(lambda a, b: a + b)\n"
    )
    options = ["-q", "-o", "junit_family=xunit1", "--junitxml=report.xml"]
    subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "muster_order", *options],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(RUNNER / "pytest_plugins")},
        capture_output=True,
        check=True,
    )
    report = (tmp_path / "report.xml").read_text()
    assert 'classname="tests.test_sums.TestSums" name="test_adds"' in report
    assert 'file="tests/test_sums.py"' in report


@pytest.mark.parametrize(
    ("schedstat", "expected"),
    [
        ("5000000000 3000000000 7\n", 997.0),
        ("1 900000000000 1\n", 800.0),
        ("", 1000.0),
    ],
)
def test_the_time_for_repeated_tests_leaves_out_waiting(
    schedstat: str, expected: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Waiting is left out up to a bound, and where the kernel reports it."""
    monkeypatch.syspath_prepend(str(RUNNER / "pytest_plugins"))
    plugin = importlib.import_module("muster_repeat")
    file = tmp_path / "schedstat"
    file.write_text(schedstat)
    monkeypatch.setattr(plugin, "_monotonic", lambda: 1000.0)
    monkeypatch.setattr(
        plugin, "_open", lambda _, encoding: file.open(encoding=encoding)
    )
    assert plugin._clock() == expected


def test_a_fix_is_found_in_copies_archives_and_patches_and_nowhere_else(
    tmp_path: Path,
) -> None:
    """Other spaces do not hide it. A file that has the same lines in other places does not hold it."""
    root = tmp_path / "python3.11"
    root.mkdir()
    fix = "if not  list(numbers):\n\treturn 0.0 # of nothing\n\n"
    (root / "copy.py").write_text(f"def mean(numbers):\n{fix}    return 1\n")
    (root / "half.py").write_text("if not list(numbers):\n    return 0.0\n")
    (root / "apart.py").write_text(fix.replace("\n\t", "\n    pass\n\t"))
    (root / "copy.bin").write_text(fix)
    (root / "fix.patch").write_text(
        "+++ b/a.py\n-old\n+if not list(numbers):\n-old\n+    return 0.0 # of nothing\n"
    )
    with zipfile.ZipFile(root / "release.whl", "w") as wheel:
        wheel.writestr("sums/mean.py", fix)
    (root / "first.py").write_text("x\n  a = f(x)\n  b = 2\n")
    (root / "second.py").write_text("b = 2\n\nc = g(a)\n")
    (root / "neither.py").write_text("b = 2\n")

    def find(word: str, parts: list[list[str]]) -> list[str]:
        asked = {
            "parts": parts,
            "word": word,
            "places": [f"{tmp_path}/python3*"],
            "suffixes": [".py", ".patch"],
        }
        done = subprocess.run(
            [sys.executable, "-B", "-m", "muster_preparation.find_leaks"],
            input=json.dumps(asked),
            env={**os.environ, "PYTHONPATH": str(RUNNER)},
            capture_output=True,
            text=True,
            check=True,
        )
        return [os.path.relpath(path, root) for path in sorted(json.loads(done.stdout))]

    telling = ["if not list(numbers):\nreturn 0.0 # of nothing"]
    found = ["copy.py", "fix.patch", "release.whl!sums/mean.py"]
    assert find("list(numbers):", [telling]) == found
    assert find("list(numbers):", [telling, ["return 1"]]) == ["copy.py"]
    assert find("b", [["a = f(x)\nb = 2", "b = 2\nc = g(a)"]]) == [
        "first.py",
        "second.py",
    ]
    assert find("b", []) == []


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_an_archive_is_searched_up_to_the_size_that_may_be_unpacked(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a limit, a small archive that unpacks to gigabytes would fill the sandbox."""
    release = tmp_path / "release"
    release.mkdir()
    (release / "a.py").write_text("a = 0\n" * 10_000)
    (release / "b.py").write_text("b = 1\n")
    path = shutil.make_archive(str(tmp_path / "made"), kind, release)
    trace = find_leaks.Trace([["b = 1"]], b"b = 1")

    def find() -> list[str]:
        return find_leaks._list_leaks(path, (".py",), trace)

    assert [each.split("!")[-1].removeprefix("./") for each in find()] == ["b.py"]
    monkeypatch.setattr(find_leaks, "MOST_UNPACKED", 60_000)
    assert find() == []


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ({"GNU.sparse.major": "1", "GNU.sparse.minor": "0"}, ["a.py"]),
        ({"GNU.sparse.map": "x"}, []),
    ],
)
def test_the_map_of_holes_in_an_archive_neither_costs_nor_ends_the_search(
    header: dict[str, str], found: list[str], tmp_path: Path
) -> None:
    """A map in front of the content can have megabytes; one in a header can be damaged."""
    path = str(tmp_path / "made.tar")
    content = b"b = 1\n"
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        entry = tarfile.TarInfo("a.py")
        entry.size = len(content)
        entry.pax_headers = header
        tar.addfile(entry, io.BytesIO(content))
    trace = find_leaks.Trace([["b = 1"]], b"b = 1")
    leaks = find_leaks._list_leaks(path, (".py",), trace)
    assert [each.split("!")[-1] for each in leaks] == found


def test_tools_that_build_check_or_release_a_package_are_not_installed() -> None:
    """Tests may need a package whose name only begins like a tool's."""
    left_out = {
        "@babel/cli",
        "eslint",
        "@stylistic/eslint-plugin",
        "husky",
        "rollup",
        "xo",
    }
    kept = {"@babel/core", "@babel/preset-env", "jest", "standard-error", "xorshift"}
    assert {name for name in left_out | kept if TOOLS.match(name)} == left_out

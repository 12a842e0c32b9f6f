"""What is installed for the tests of a repository that tasks are made of."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

from runner_process import RUNNER


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


def test_a_release_of_the_package_itself_that_a_dependency_brings_is_taken_away(
    tmp_path: Path,
) -> None:
    """It may hold the fix. What says the version of the repository stays, as some packages look their own up."""
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
        'from setuptools import setup\nsetup(name="sums", install_requires=["helper"])\n'
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

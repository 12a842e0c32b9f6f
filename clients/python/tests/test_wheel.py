"""The wheel, as the project's own files make it."""

import email
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

import muster.command

PROJECT = Path(__file__).parent.parent
LOOK = "import muster_client, sys; assert muster_client.__file__.startswith(sys.argv[1]); print(*muster_client.__all__)"


def test_a_wheel_is_built_from_the_source_distribution_and_imports_by_itself(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(tmp_path), str(PROJECT)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as content:
        assert "muster_client/py.typed" in content.namelist()
        (metadata,) = [name for name in content.namelist() if name.endswith("METADATA")]
        described = email.message_from_bytes(content.read(metadata))
        content.extractall(tmp_path / "site")
    assert described["Name"] == "muster-client"
    assert described["License-Expression"] == "Apache-2.0"
    needed = {re.split(r"[^\w.-]", entry)[0] for entry in described.get_all("Requires-Dist", []) if "extra" not in entry}
    assert needed == {"httpx", "tqdm"}

    site = str(tmp_path / "site")
    shown = subprocess.run([sys.executable, "-c", LOOK, site], env={"PYTHONPATH": site}, capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stderr
    assert "Client" in shown.stdout.split()


def test_a_package_in_a_directory_right_below_the_root_says_what_is_missing() -> None:
    names: dict[str, Any] = {"__file__": "/muster/command.py", "__name__": "muster.command"}
    exec(compile(Path(muster.command.__file__).read_text(), names["__file__"], "exec"), names)
    with pytest.raises(Exception, match=r"/muster/program/code/muster\.js is missing"):
        names["muster_command"]()

"""The command `muster eval` of this repository, whose sandboxes have the Python of these tests."""

import os
import subprocess
import sys
from pathlib import Path

from tests.real_server import HANG_SECONDS, REPOSITORY


def muster_eval(suite: Path, checkpoint: Path, *flags: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "MUSTER_TEMPLATES__LOCAL__PYTHON": sys.executable}
    command = [str(REPOSITORY / "muster"), "eval", str(suite), "-c", str(checkpoint), *flags]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=HANG_SECONDS, check=False)

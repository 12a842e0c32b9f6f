"""The oldest Gymnasium that the runner is played with: what is not in it yet is taken away before the runner is imported."""

import subprocess
import sys

from runner_process import RUNNER

# What Gymnasium has from 1.1 on, and parts of the runner or environments might lean on.
WITHOUT_NEW_PARTS = """
import sys, gymnasium, gymnasium.vector
del gymnasium.vector.AutoresetMode
sys.modules.pop("gymnasium.vector.vector_env", None)
sys.path.insert(0, sys.argv[1])
"""

ALL_MODULES = """
import importlib, pkgutil, muster_runner
for module in pkgutil.walk_packages(muster_runner.__path__, "muster_runner."):
    importlib.import_module(module.name)
    print(module.name)
"""

UNSAID_MODE = """
from types import SimpleNamespace
from muster_runner.blocks.autoreset import detect_autoreset
print(detect_autoreset(SimpleNamespace(metadata={})).name, detect_autoreset(SimpleNamespace(metadata={"autoreset_mode": "Disabled"})).name)
"""


def said_without_new_parts(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", WITHOUT_NEW_PARTS + program, str(RUNNER)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_module_of_the_runner_can_be_imported() -> None:
    imported = said_without_new_parts(ALL_MODULES).split()
    assert {"muster_runner.session", "muster_runner.blocks.vector_run", "muster_runner.rehearsal"} <= set(imported)


def test_rows_of_a_vector_environment_without_a_declared_autoreset_mode_reset_in_the_next_step() -> None:
    assert said_without_new_parts(UNSAID_MODE).split() == ["NEXT_STEP", "DISABLED"]

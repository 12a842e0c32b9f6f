"""Fixtures: a runner for each test, and a simple checkpoint for the tests in which the policy does not matter."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# As the runner has it: threads that wait for each other would be slower than one.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# The runner is not installed: it is mounted into sandboxes.
sys.path.insert(0, str(Path(__file__).parents[3] / "runner"))

from checkpoints import constant_layer, write_mlp
from runner_process import RUNNER, RunnerProcess
from torch_scripts import TORCH_PYTHON, TorchScripts, open_torch_scripts

# What has no process of its own is imported from there.
sys.path.append(str(RUNNER))


@pytest.fixture
def runner() -> Iterator[RunnerProcess]:
    with RunnerProcess() as process:
        yield process.ready()


@pytest.fixture(scope="session")
def torch_runner() -> Iterator[RunnerProcess]:
    """One of a Python with torch, for all tests: each loads its own checkpoint in place of the former."""
    with RunnerProcess(command=(TORCH_PYTHON, "-I", RUNNER)) as process:
        yield process.ready()


@pytest.fixture(scope="session")
def torch_scripts() -> Iterator[TorchScripts]:
    with open_torch_scripts() as scripts:
        yield scripts


@pytest.fixture
def any_policy(tmp_path: Path) -> tuple[Path, str]:
    """Always the action 1, for one number of observation."""
    return write_mlp(tmp_path / "any.safetensors", constant_layer(1, [0.0, 1.0]))

"""These tests run in an environment of their own, which `npm run test:agentic` makes; elsewhere they are left out."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.real_server import REPOSITORY, RealServer, spoilt_task

collect_ignore_glob = [] if find_spec("verifiers") and find_spec("nemo_gym") else ["test_*.py"]

TASK = "fix-bug-in-sort-function"
SOLUTION = (REPOSITORY / "examples" / "code" / TASK / "solution" / "sorting.py").read_text()


@pytest.fixture(scope="session")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    directory = tmp_path_factory.mktemp("muster")
    with RealServer(directory, spoilt_task(directory)) as server:
        yield server.url


@pytest.fixture
def server(started: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("MUSTER_URL", started)
    # The servers of tools are processes of their own.
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2] / "src"))
    return started

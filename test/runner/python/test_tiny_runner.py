"""The protocol's description is enough to write a runner in another language."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from runner_process import REPOSITORY, RunnerProcess, environment

TINY = REPOSITORY / "test" / "support" / "runners" / "tiny-runner.pl"


@pytest.fixture
def tiny() -> Iterator[RunnerProcess]:
    with RunnerProcess(command=("perl", TINY)) as process:
        yield process.ready()


def test_a_tiny_runner_loads_plays_ranges_and_answers_pings(tiny: RunnerProcess) -> None:
    assert tiny.load(Path("/any"), "sha256:0", environment("any:thing")) == {"type": "loaded", "load": 1, "digest": "sha256:0"}
    assert [outcome["return"] for outcome in tiny.play([(0, 0, 1234, 9), (1, 0, 4294967295, 9), (2, 0, 500, 9)])] == [0.34, 0.95, 0]
    tiny.send({"type": "ping", "ping": 8})
    assert tiny.receive() == {"type": "pong", "ping": 8}
    assert tiny.end_input() == 0


def test_a_tiny_runner_ends_on_an_invalid_frame(tiny: RunnerProcess) -> None:
    tiny.send({"type": "hello"})
    assert tiny.exit_code() == 70

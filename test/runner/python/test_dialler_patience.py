"""How long a pod's container goes on dialling a Muster that is not there."""

from collections.abc import Callable, Iterator
from itertools import chain, repeat

import pytest
from muster_dialler import container
from muster_dialler.settings import Settings

SETTINGS = Settings("ws://192.0.2.7:7678/dial-back/pod/program", "token", None)


class Left(Exception):
    """The container has ended."""


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> Callable[[Iterator[OSError]], float]:
    """Seconds until the container gives up, by a clock that only pauses and answers move on."""
    now = 0.0

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    def leave(code: int, text: str) -> None:
        raise Left(code, text)

    monkeypatch.setattr(container.time, "monotonic", lambda: now)
    monkeypatch.setattr(container.time, "sleep", sleep)
    monkeypatch.setattr(container, "leave", leave)

    def until_left(answers: Iterator[OSError]) -> float:
        def dial(_settings: Settings) -> None:
            error = next(answers)
            sleep(10.0 if isinstance(error, TimeoutError) else 0.001)
            raise error

        monkeypatch.setattr(container, "dial", dial)
        with pytest.raises(Left) as left:
            container._dial_patiently(SETTINGS)
        assert left.value.args[0] == container.EXIT_REFUSED
        return now

    return until_left


def test_a_container_whose_muster_was_killed_ends_within_twenty_seconds(patience: Callable[[Iterator[OSError]], float]) -> None:
    assert 15 < patience(repeat(ConnectionRefusedError("refused"))) < 20


def test_a_container_whose_muster_does_not_answer_yet_waits_for_a_minute(patience: Callable[[Iterator[OSError]], float]) -> None:
    assert 60 < patience(repeat(TimeoutError("timed out"))) < 75


def test_refusals_before_a_late_answer_do_not_count(patience: Callable[[Iterator[OSError]], float]) -> None:
    refused = [ConnectionRefusedError("refused")] * 5
    assert 15 < patience(chain(refused, [TimeoutError("timed out")], repeat(ConnectionRefusedError("refused")))) < 45

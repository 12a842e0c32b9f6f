"""Trying again, told without a socket or a clock: a call is given what came of its effects, and says what it wants next."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from muster_client import QuotaExceeded, Retry, ServerUnavailable, Timeout
from muster_client.calls import Deadline, call
from muster_client.effects import Done, Exchange, Items, Open, Pause, Read, Request, Response, Steps, Work, resume
from muster_client.operations import events, submit
from muster_client.server_version import HEADER
from muster_client.settings import VERSION, Settings
from muster_client.wire import create_answer_timeout


@dataclass
class Fixture:
    """A clock that tests turn, and chance that always draws the same."""

    retry: Retry = field(default_factory=lambda: Retry(first_seconds=1, longest_seconds=6, patience_seconds=60))
    now: float = 1000.0
    pauses: list[float] = field(default_factory=list)

    @property
    def settings(self) -> Settings:
        return Settings("http://muster", None, 5, self.retry, lambda: self.now, lambda: 0.5)

    def play(self, steps: Steps[Any] | Items[Any], answers: Sequence[Response | bytes | Exception]) -> Any:
        """Answers each exchange, opening and reading in turn; pauses pass at once."""
        left = list(answers)
        step = resume(steps)
        while not isinstance(step, Done):
            if isinstance(step, Pause):
                self.pauses.append(step.seconds)
                self.now += step.seconds
                step = resume(steps)
                continue
            assert isinstance(step, Exchange | Open | Read)
            answer = left.pop(0)
            step = resume(steps, error=answer) if isinstance(answer, Exception) else resume(steps, answer)
        assert left == []
        return step.value


OK = Response(200, {}, b"{}")
GET = Request("GET", "/healthz")


def broken() -> ServerUnavailable:
    return ServerUnavailable("connection refused")


def test_pauses_double_up_to_the_longest_and_are_drawn_at_random() -> None:
    fixture = Fixture()
    assert fixture.play(call(fixture.settings, GET), [broken(), broken(), broken(), broken(), broken(), OK]) == OK
    assert fixture.pauses == [0.5, 1, 2, 3, 3]


def test_a_retry_waits_as_long_as_the_server_asks_for() -> None:
    fixture = Fixture()
    fixture.play(call(fixture.settings, GET), [Response(503, {"retry-after": "5"}), Response(429, {"retry-after": "7"}), OK])
    assert fixture.pauses == [5, 7]


def test_patience_ends_and_the_last_failure_is_raised() -> None:
    fixture = Fixture(Retry(first_seconds=8, longest_seconds=8, patience_seconds=10))
    with pytest.raises(ServerUnavailable, match="connection refused"):
        fixture.play(call(fixture.settings, GET), [broken(), broken(), broken()])
    assert fixture.pauses == [4, 4]


def test_the_first_failure_is_reported_while_retries_continue(caplog: pytest.LogCaptureFixture) -> None:
    fixture = Fixture()
    fixture.play(call(fixture.settings, GET), [broken(), broken(), OK])
    assert caplog.messages == ["connection refused; trying again for 60 s"]


def test_a_server_of_another_version_causes_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    fixture = Fixture()
    settings = fixture.settings
    same = ".".join([*VERSION.split(".")[:2], "99"])
    for version in (same, "7.2.0", "7.2.0", VERSION):
        fixture.play(call(settings, GET), [Response(200, {HEADER: version})])
    (warning,) = caplog.messages
    assert f"is Muster 7.2.0, and this client is {VERSION}; " in warning
    assert warning.endswith("pip install muster-eval==7.2.0")


def test_a_pause_longer_than_patience_is_neither_begun_nor_reported(caplog: pytest.LogCaptureFixture) -> None:
    fixture = Fixture()
    with pytest.raises(QuotaExceeded) as caught:
        fixture.play(call(fixture.settings, GET), [Response(429, {"retry-after": "3600"})])
    assert caught.value.retry_after == 3600
    assert fixture.pauses == []
    assert caplog.messages == []


def test_a_retry_after_header_with_a_date_is_ignored() -> None:
    fixture = Fixture()
    fixture.play(call(fixture.settings, GET), [Response(503, {"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}), OK])
    assert fixture.pauses == [0.5]


def test_each_event_restores_the_whole_patience() -> None:
    """A server that starts anew every minute is waited for all night."""
    fixture = Fixture(Retry(first_seconds=8, longest_seconds=8, patience_seconds=10))
    stream: list[Any] = []
    for sequence in range(1, 20):
        data = b'data: {"sequence": %d, "type": "state", "at": "2026-01-01T00:00:00Z", "data": {"state": "running"}}\n\n' % sequence
        stream += [broken(), Response(200, {}), data, broken()]
    seen: list[int] = []
    step = resume(items := events(fixture.settings, "ev-1", 0, _no_deadline(fixture)))
    for answer in [*stream, Response(204, {})]:
        while not isinstance(step, Open | Read):
            if hasattr(step, "item"):
                seen.append(step.item.sequence)
            step = resume(items)
        step = resume(items, error=answer) if isinstance(answer, Exception) else resume(items, answer)
    assert isinstance(step, Done)
    assert seen == list(range(1, 20))


def test_a_heartbeat_restores_the_whole_patience() -> None:
    """An evaluation may wait for its turn all night, behind a proxy that cuts every stream off."""
    fixture = Fixture(Retry(first_seconds=8, longest_seconds=8, patience_seconds=10))
    heartbeat: list[Response | bytes | Exception] = [OK, b": still here\n\n", broken()]
    fixture.play(events(fixture.settings, "ev-1", 0, _no_deadline(fixture)), [*heartbeat * 20, Response(204, {})])
    assert fixture.pauses == [4] * 20


def test_streams_that_end_without_an_event_use_up_patience() -> None:
    fixture = Fixture(Retry(first_seconds=8, longest_seconds=8, patience_seconds=10))
    with pytest.raises(ServerUnavailable, match="the stream of events ended before the evaluation did"):
        fixture.play(events(fixture.settings, "ev-1", 0, _no_deadline(fixture)), [OK, b""] * 3)


def test_no_pause_is_longer_than_the_time_that_is_left_to_wait() -> None:
    fixture = Fixture()
    deadline = Deadline(fixture.settings, 2.5, lambda seconds: Timeout("ev-1", seconds))
    with pytest.raises(Timeout, match=r"2\.5 s"):
        fixture.play(events(fixture.settings, "ev-1", 0, deadline), [broken(), broken(), broken()])
    assert fixture.pauses == [0.5, 1, 1]


def test_a_silent_stream_is_read_no_longer_than_the_time_that_is_left() -> None:
    fixture = Fixture()
    opened = resume(events(fixture.settings, "ev-1", 0, Deadline(fixture.settings, 2.5, lambda seconds: Timeout("ev-1", seconds))))
    assert isinstance(opened, Open)
    assert opened.idle_seconds == 2.5


def test_a_server_that_reads_a_large_checkpoint_before_it_accepts_is_given_the_time() -> None:
    """Asked again after the client's own timeout, it would begin anew, and never come to an end."""
    fixture = Fixture()
    steps = submit(fixture.settings, "s3://bucket/large", "cartpole", None, {})
    first = resume(steps)
    assert isinstance(first, Work)
    exchange = resume(steps, first.call())
    assert isinstance(exchange, Exchange)
    assert create_answer_timeout(fixture.settings.timeout, exchange.answer_seconds).as_dict() == {
        "connect": 5,
        "read": 900,
        "write": 5,
        "pool": 5,
    }


def _no_deadline(fixture: Fixture) -> Deadline:
    return Deadline(fixture.settings, None, lambda seconds: Timeout("ev-1", seconds))

"""Asking for an evaluation and waiting for its answer."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from muster_client import (
    BadRequest,
    Checkpoint,
    CheckpointLike,
    Client,
    ComparisonSummary,
    EvaluationCancelled,
    EvaluationFailed,
    InvalidArgument,
    Retry,
    Running,
    ServerUnavailable,
    Summary,
    Timeout,
)
from tests.fake_server import FakeMuster
from tests.faults import Answer, CutStream, Drop, DropAfterWork, EndStream
from tests.samples import BASELINE, SUBJECT, comparison, evaluation, events_of, problem, summary

EVENTS = r"/v1/evaluations/ev-1/events"


def test_an_evaluation_is_submitted_and_followed_to_its_answer(muster: Client, fake: FakeMuster) -> None:
    answer = muster.evaluate(SUBJECT, "cartpole", run="ppo-1", version=4096)

    assert isinstance(answer, Summary)
    assert (answer.mean, answer.episodes, answer.unresolved, answer.ended, answer.partial) == (498.0, 240, 1, "rule", False)
    assert answer.interval is not None
    assert (answer.interval.low, answer.interval.high, answer.interval.confidence) == (480.3, 500.0, 0.95)
    assert answer.interval.half_width == pytest.approx(9.85)
    assert answer.satisfied
    assert answer.warnings == ("one episode was lost", "slow")
    assert answer.official == summary()["official"]
    assert [asked.method + " " + asked.path for asked in fake.asked] == [
        "POST /v1/evaluations",
        "GET /v1/evaluations/ev-1/events",
        "GET /v1/evaluations/ev-1",
    ]


def test_a_repeated_evaluation_is_answered_by_the_first_request(muster: Client, fake: FakeMuster) -> None:
    fake.answers_at_once = True
    assert muster.evaluate(SUBJECT, "cartpole").official == summary()["official"]
    assert [asked.method + " " + asked.path for asked in fake.asked] == ["POST /v1/evaluations"]


def test_a_submission_contains_only_the_given_arguments(muster: Client, fake: FakeMuster) -> None:
    muster.submit(SUBJECT, {"name": "mine"})
    muster.submit(
        Checkpoint(uri="s3://bucket/policy", version=7),
        "cartpole",
        baseline=BASELINE,
        stop={"rule": "fixed", "episodes": 200},
        run="ppo-1",
        priority=5,
        deadline=datetime(2026, 1, 2, tzinfo=UTC),
        labels={"team": "walking"},
        webhook="https://example.org/hook",
        cache=False,
    )
    short, full = (asked.json for asked in fake.requests("POST", "/v1/evaluations"))
    assert short == {"checkpoint": {"sha256": SUBJECT}, "suite": {"name": "mine"}}
    assert full == {
        "checkpoint": {"uri": "s3://bucket/policy", "run": "ppo-1", "version": 7},
        "baseline": {"sha256": BASELINE},
        "suite": "cartpole",
        "stop": {"rule": "fixed", "episodes": 200},
        "priority": 5,
        "deadline": "2026-01-02T00:00:00.000+00:00",
        "labels": {"team": "walking"},
        "webhook": {"url": "https://example.org/hook"},
        "cache": "off",
    }


def test_requests_carry_the_token_and_each_submission_its_own_key(muster: Client, fake: FakeMuster) -> None:
    muster.submit(SUBJECT, "cartpole")
    muster.submit(SUBJECT, "cartpole")
    muster.submit(SUBJECT, "cartpole", idempotency_key="step-4096")
    keys = [asked.headers["idempotency-key"] for asked in fake.asked]
    assert len(set(keys)) == 3
    assert keys[2] == "step-4096"
    assert {asked.headers["authorization"] for asked in fake.asked} == {"Bearer muster_secret"}


def test_a_submission_repeated_with_its_key_is_the_same_evaluation(muster: Client) -> None:
    assert muster.submit(SUBJECT, "cartpole", idempotency_key="k").id == muster.submit(SUBJECT, "cartpole", idempotency_key="k").id


def test_a_submission_whose_answer_was_lost_is_accepted_once(muster: Client, fake: FakeMuster) -> None:
    fake.break_down("POST", "/v1/evaluations", DropAfterWork(), Drop())
    assert muster.evaluate(SUBJECT, "cartpole").mean == 498.0
    sent = fake.requests("POST", "/v1/evaluations")
    assert len(sent) == 3
    assert len({asked.headers["idempotency-key"] for asked in sent}) == 1
    assert len(fake.evaluations) == 1


def test_a_broken_stream_of_events_resumes_without_a_gap_or_a_repetition(muster: Client, fake: FakeMuster) -> None:
    fake.break_down("GET", EVENTS, CutStream(after_bytes=300), CutStream(after_bytes=1), Drop(), EndStream(after_items=1))
    seen: list[Running] = []
    muster.evaluate(SUBJECT, "cartpole", progress=seen.append)
    assert [running.episodes for running in seen] == [80, 160, 240]
    asked = [int(asked.headers["last-event-id"]) for asked in fake.requests("GET", EVENTS)]
    assert asked[0] == 0
    assert asked[1] > 0
    assert asked == sorted(asked)
    assert len(asked) == 5
    assert fake.faults_left == 0


@pytest.mark.parametrize("cut", range(1, 900, 53))
def test_wherever_a_stream_of_events_breaks_each_event_comes_once(muster: Client, fake: FakeMuster, cut: int) -> None:
    fake.break_down("GET", EVENTS, CutStream(after_bytes=cut))
    id = muster.submit(SUBJECT, "cartpole").id
    assert [event.sequence for event in muster.events(id)] == [1, 2, 3, 4, 5, 6]


def test_events_can_be_followed_from_any_event_on(muster: Client) -> None:
    id = muster.submit(SUBJECT, "cartpole").id
    assert [(event.sequence, event.type) for event in muster.events(id, after=4)] == [(5, "progress"), (6, "state")]
    assert list(muster.events(id, after=6)) == []


def test_a_baseline_makes_it_a_comparison(muster: Client, fake: FakeMuster) -> None:
    fake.next_evaluation = lambda id: (evaluation(id, kind="comparison", summary=comparison()), events_of(id))
    answer = muster.evaluate(SUBJECT, "cartpole", baseline=BASELINE)
    assert isinstance(answer, ComparisonSummary)
    assert answer.verdict == "promote"
    assert answer.candidates[0].difference == 256.6
    assert answer.candidates[0].interval is not None


def test_candidates_are_compared_with_a_baseline(muster: Client, fake: FakeMuster) -> None:
    fake.next_evaluation = lambda id: (evaluation(id, kind="comparison", summary=comparison("equivalent")), events_of(id))
    candidates: list[CheckpointLike] = [SUBJECT, Checkpoint(uri="file:///other", run="other")]
    answer = muster.compare(BASELINE, candidates, "cartpole", run="ppo-1", margin=2.5, budget_episodes=400)
    assert answer.verdict == "equivalent"
    assert fake.requests("POST", "/v1/comparisons")[0].json == {
        "baseline": {"sha256": BASELINE},
        "candidates": [{"sha256": SUBJECT, "run": "ppo-1"}, {"uri": "file:///other", "run": "other"}],
        "suite": "cartpole",
        "margin": 2.5,
        "budgetEpisodes": 400,
    }


def test_a_failed_evaluation_reports_the_reason_and_its_partial_result(muster: Client, fake: FakeMuster) -> None:
    failure = {"code": "pool.exhausted", "message": "no sandbox could be made"}
    partial = summary(partial=True, ended="failed")
    fake.next_evaluation = lambda id: (evaluation(id, "failed", failure=failure, summary=partial), events_of(id, "failed"))
    with pytest.raises(EvaluationFailed, match="no sandbox could be made") as caught:
        muster.evaluate(SUBJECT, "cartpole")
    assert caught.value.code == "pool.exhausted"
    assert isinstance(caught.value.summary, Summary)
    assert caught.value.summary.partial


def test_a_cancelled_evaluation_raises_instead_of_returning_an_answer(muster: Client, fake: FakeMuster) -> None:
    fake.next_evaluation = lambda id: (evaluation(id, "cancelled"), events_of(id, "cancelled"))
    with pytest.raises(EvaluationCancelled) as caught:
        muster.evaluate(SUBJECT, "cartpole")
    assert (caught.value.code, caught.value.summary, caught.value.evaluation.id) == (None, None, "ev-1")


def test_a_field_that_is_wrong_is_named(muster: Client, fake: FakeMuster) -> None:
    wrong = {"body__stop__halfWidth": "expected a number above 0, got -1", "body__run": "too long"}
    document = problem(400, "request.invalid", "two fields are wrong", **wrong)
    document["errors"][0]["expected"] = "a number above 0"
    fake.break_down("POST", "/v1/evaluations", Answer(400, document))
    with pytest.raises(BadRequest) as caught:
        muster.evaluate(SUBJECT, "cartpole", stop={"rule": "certified", "halfWidth": -1})
    assert (caught.value.code, caught.value.path) == ("request.invalid", "body.stop.halfWidth")
    assert caught.value.expected == "a number above 0"
    assert [(error.field, error.expected) for error in caught.value.errors] == [
        ("body.stop.halfWidth", "a number above 0"),
        ("body.run", None),
    ]
    assert len(fake.asked) == 1


def test_a_wait_that_times_out_raises_and_the_evaluation_continues(muster: Client, fake: FakeMuster) -> None:
    fake.next_evaluation = lambda id: (evaluation(id, "running"), events_of(id)[:2])
    with pytest.raises(Timeout) as caught:
        muster.evaluate(SUBJECT, "cartpole", timeout=1e-9)
    assert caught.value.evaluation_id == "ev-1"
    assert fake.requests("DELETE", ".*") == []


def test_a_suite_in_a_file_is_sent_as_it_is_written(muster: Client, fake: FakeMuster, tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text("name: mine\nstop: { rule: certified, halfWidth: 1e-3 }\non: yes\n")
    (tmp_path / "suite.json").write_text('{"name": "mine"}')
    muster.submit(SUBJECT, tmp_path / "suite.yaml")
    muster.submit(SUBJECT, str(tmp_path / "suite.json"))
    sent = [asked.json["suite"] for asked in fake.asked]
    assert sent == [{"name": "mine", "stop": {"rule": "certified", "halfWidth": 0.001}, "on": "yes"}, {"name": "mine"}]


@pytest.mark.parametrize(
    ("checkpoint", "suite", "options", "says"),
    [
        ("/nowhere/policy.safetensors", "cartpole", {}, "checkpoint or agent: there is no file or directory /nowhere/policy.safetensors"),
        (SUBJECT, "/nowhere/suite.yaml", {}, "/nowhere/suite.yaml cannot be read"),
        (SUBJECT, "cartpole", {"deadline": datetime(2026, 1, 1)}, "deadline: expected a time with its zone"),
        (SUBJECT, "cartpole", {"stop": {"halfWidth": float("nan")}}, "stop: expected what JSON can say, .* got {'halfWidth': nan}"),
        (SUBJECT, "cartpole", {"cache": "no"}, "cache: expected True, or False"),
        (SUBJECT, "cartpole", {"deadline": "tomorrow"}, "deadline: expected a time with its zone"),
        (SUBJECT, "cartpole", {"labels": ["x"]}, "labels: expected a mapping"),
        (SUBJECT, "cartpole", {"idempotency_key": 5}, "idempotency_key: expected text"),
        (SUBJECT, "cartpole", {"timeout": "5 minutes"}, "timeout: expected a number of seconds"),
        (SUBJECT, "cartpole", {"timeout": float("nan")}, "timeout: expected a number of seconds"),
        (SUBJECT, "cartpole", {"progress": "bars"}, "progress: expected"),
        (SUBJECT, "cartpole", {"baseline": 5}, "checkpoint.path: expected a path, got 5"),
        (object(), "cartpole", {}, "checkpoint.path: expected a path, got <object"),
        (SUBJECT, 7, {}, "suite: expected the name"),
        ("suite.yaml", "policy.safetensors", {}, "suite: policy.safetensors has the name of a checkpoint's file"),
        (SUBJECT, "cartpole", {"timeout": -1}, "timeout: expected a number of seconds, 0 or more"),
    ],
)
def test_invalid_arguments_are_refused_before_anything_is_sent(
    muster: Client, fake: FakeMuster, checkpoint: Any, suite: Any, options: Any, says: str
) -> None:
    with pytest.raises(InvalidArgument, match=says):
        muster.evaluate(checkpoint, suite, **options)
    assert fake.asked == []


def test_filters_ids_and_settings_of_another_type_are_refused_before_anything_is_sent(muster: Client, fake: FakeMuster) -> None:
    given: Any = {"state": 5}
    with pytest.raises(InvalidArgument, match="state: expected"):
        list(muster.list(**given))
    given = {"label": "owner=ppo"}
    with pytest.raises(InvalidArgument, match="label: expected a name and its value"):
        list(muster.list(**given))
    wrong: Any = 5
    with pytest.raises(InvalidArgument, match="evaluation_id: expected text, the `id` of what `submit` returned"):
        muster.get(wrong)
    with Client("http://127.0.0.1:9") as client:
        with pytest.raises(InvalidArgument, match=r"action: expected a mapping such as .*, got 5"):
            client.arena.step("ep-1", 1, wrong)
        with pytest.raises(InvalidArgument, match="episode_id: expected text, the `id` of what `start` returned, got 5"):
            client.arena.step(wrong, 1, {})
        with pytest.raises(InvalidArgument, match="stream_id: expected text, the `id` of what `start` returned, got 5"):
            client.rollouts.get(wrong)
    with pytest.raises(InvalidArgument, match="the client is closed"):
        client.get("ev-1")
    with pytest.raises(InvalidArgument, match=r"retry\.patience_seconds: expected a number of seconds, 0 or more, got -1"):
        Retry(patience_seconds=-1)
    for settings in ({"url": wrong}, {"token": wrong}, {"timeout": "5"}, {"retry": wrong}):
        with pytest.raises(InvalidArgument, match=f"{next(iter(settings))}: expected"):
            Client(**{"url": "http://127.0.0.1:9", **settings})
    assert fake.asked == []


def test_a_deadline_can_be_given_as_a_duration(muster: Client, fake: FakeMuster) -> None:
    before = datetime.now(UTC)
    muster.submit(SUBJECT, "cartpole", deadline=timedelta(minutes=5))
    sent = datetime.fromisoformat(fake.asked[0].json["deadline"])
    assert before + timedelta(minutes=4) < sent < datetime.now(UTC) + timedelta(minutes=6)


def test_an_unreachable_server_is_named_when_patience_runs_out() -> None:
    with Client("http://127.0.0.1:9", retry=Retry(patience_seconds=0)) as client, pytest.raises(ServerUnavailable, match=r"127\.0\.0\.1:9"):
        client.get("ev-1")


def test_an_unknown_keyword_is_refused_before_anything_is_sent(muster: Client, fake: FakeMuster) -> None:
    slipped: Any = {"lables": {"a": "b"}}
    with pytest.raises(TypeError, match="'lables'; did you mean 'labels'"):
        muster.evaluate(SUBJECT, "cartpole", **slipped)
    with pytest.raises(TypeError, match="'lables'"):
        muster.compare(SUBJECT, SUBJECT, "cartpole", **slipped)
    with pytest.raises(TypeError, match="'lables'; did you mean 'label'"):
        list(muster.list(**slipped))
    slipped = {"timout": 5}
    with pytest.raises(TypeError, match="'timout'; did you mean 'timeout'"):
        muster.evaluate(SUBJECT, "cartpole", **slipped)
    slipped = {"half_width": 5}
    with pytest.raises(TypeError, match=r"'half_width'; expected one of .*, stop, timeout, "):
        muster.evaluate(SUBJECT, "cartpole", **slipped)
    assert fake.asked == []


def test_a_mistyped_checkpoint_is_refused_with_the_nearest_name(muster: Client, tmp_path: Path) -> None:
    (tmp_path / "policy.safetensors").write_bytes(b"")
    with pytest.raises(InvalidArgument, match=r"did you mean .*/policy\.safetensors"):
        muster.evaluate(tmp_path / "polcy.safetensors", "cartpole")


def test_a_mistyped_suite_is_refused_with_the_nearest_name(muster: Client, tmp_path: Path) -> None:
    (tmp_path / "cartpole.yaml").write_text("name: cartpole")
    with pytest.raises(InvalidArgument, match=r"did you mean .*/cartpole\.yaml"):
        muster.evaluate(SUBJECT, tmp_path / "cartpol.yaml")

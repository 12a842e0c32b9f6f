"""The steps of each call of the clients. Both clients run these; neither has any logic of its own."""

import os
from collections.abc import Callable, Sequence
from typing import Any

from muster_client.arguments import assert_known, assert_seconds, quote_part
from muster_client.calls import SLOW_ANSWER_SECONDS, STREAM_IDLE_SECONDS, Deadline, call
from muster_client.checkpoint import CheckpointLike, format_checkpoint, normalize_checkpoint
from muster_client.effects import Emit, Items, Open, Pause, Read, Request, Steps, Work, for_each, perform
from muster_client.episode import Episode, read_episode
from muster_client.errors import MusterError, ServerError, ServerUnavailable, Timeout
from muster_client.evaluation import Evaluation, EvaluationCancelled, EvaluationFailed, Event, read_evaluation, read_event
from muster_client.fields import parse_fields
from muster_client.grant import Grant, read_grant
from muster_client.patience import Patience
from muster_client.pool import Pool, read_pool
from muster_client.problems import problem_in
from muster_client.settings import Settings
from muster_client.streams import EventDecoder, LineDecoder
from muster_client.submission import (
    ComparisonOptions,
    EvaluationOptions,
    Filter,
    build_comparison_request,
    build_evaluation_path,
    build_evaluation_request,
    build_json_request,
    build_list_request,
)
from muster_client.suite import KnownSuite, SuiteLike, build_suite_reference, read_known_suite
from muster_client.summary import ComparisonSummary, Summary
from muster_client.uploads import upload_path

Watch = Callable[[Event], None]


def upload(settings: Settings, path: str | os.PathLike[str]) -> Steps[str]:
    return (yield from upload_path(settings, path))


def submit(
    settings: Settings, checkpoint: CheckpointLike, suite: SuiteLike, baseline: CheckpointLike | None, options: EvaluationOptions
) -> Steps[Evaluation]:
    assert_known({**options}, EvaluationOptions, ("baseline", "timeout", "progress"))
    written = yield from perform(Work(lambda: build_suite_reference(suite)))
    subject = yield from bring_reference(settings, checkpoint, options.get("run"), options.get("version"))
    other = None if baseline is None else (yield from bring_reference(settings, baseline))
    return (yield from _submit_request(settings, build_evaluation_request(subject, other, written, options)))


def submit_comparison(
    settings: Settings, baseline: CheckpointLike, candidates: Sequence[CheckpointLike], suite: SuiteLike, options: ComparisonOptions
) -> Steps[Evaluation]:
    assert_known({**options}, ComparisonOptions, ("timeout", "progress"))
    written = yield from perform(Work(lambda: build_suite_reference(suite)))
    reference = yield from bring_reference(settings, baseline)
    references = []
    for candidate in candidates:
        references.append((yield from bring_reference(settings, candidate, options.get("run"), options.get("version"))))
    return (yield from _submit_request(settings, build_comparison_request(reference, references, written, options)))


def submit_and_wait(
    settings: Settings, submission: Steps[Evaluation], timeout: float | None, watch: Watch
) -> Steps[Summary | ComparisonSummary]:
    """Submits, waits, and returns the answer."""
    if timeout is not None:
        assert_seconds("timeout", timeout)
    evaluation = yield from submission
    if evaluation.is_over:
        return _get_summary(evaluation)
    return (yield from wait_for_answer(settings, evaluation.id, timeout, watch))


def wait_for_answer(settings: Settings, evaluation_id: str, timeout: float | None, watch: Watch) -> Steps[Summary | ComparisonSummary]:
    """Waits for the end. Raises `EvaluationFailed` or `EvaluationCancelled` when that brings no answer."""
    deadline = Deadline(settings, timeout, lambda seconds: Timeout(evaluation_id, seconds))
    yield from for_each(events(settings, evaluation_id, 0, deadline), watch)
    return _get_summary((yield from get(settings, evaluation_id)))


def get(settings: Settings, evaluation_id: str) -> Steps[Evaluation]:
    response = yield from call(settings, Request("GET", build_evaluation_path(evaluation_id)))
    return read_evaluation(parse_fields(response.body, "evaluation"))


def report(settings: Settings, evaluation_id: str) -> Steps[str]:
    response = yield from call(settings, Request("GET", build_evaluation_path(evaluation_id, "report")))
    return response.body.decode()


def transcript(settings: Settings, evaluation_id: str, index: int, arm: int) -> Steps[dict[str, Any]]:
    response = yield from call(settings, Request("GET", build_evaluation_path(evaluation_id, f"transcripts/{index}?arm={arm}")))
    return parse_fields(response.body, "transcript").raw


def cancel(settings: Settings, evaluation_id: str) -> Steps[Evaluation]:
    """Cancels an evaluation. It may be repeated: one that is over stays as it is."""
    response = yield from call(settings, Request("DELETE", build_evaluation_path(evaluation_id)))
    return read_evaluation(parse_fields(response.body, "evaluation"))


def list_evaluations(settings: Settings, filters: Filter, page_size: int) -> Items[Evaluation]:
    after: str | None = None
    while True:
        response = yield from call(settings, build_list_request(filters, page_size, after))
        page = parse_fields(response.body, "page")
        for item in page.objects("items"):
            yield Emit(read_evaluation(item))
        after = page.optional("next", page.text)
        if after is None:
            return


def suite(settings: Settings, name: str) -> Steps[KnownSuite]:
    response = yield from call(settings, Request("GET", f"/v1/suites/{quote_part('name', name, 'the name of a suite as text')}"))
    return read_known_suite(parse_fields(response.body, "suite"))


def grant(settings: Settings, sha256: str, principal: str) -> Steps[Grant]:
    """Grants a right. It may be repeated, because granting it again changes nothing."""
    response = yield from call(settings, build_json_request("POST", _grants_path(sha256), {"principal": principal}))
    return read_grant(parse_fields(response.body, "grant"))


def revoke_grant(settings: Settings, sha256: str, principal: str) -> Steps[list[Grant]]:
    path = f"{_grants_path(sha256)}/{quote_part('principal', principal, 'the name of a principal as text')}"
    response = yield from call(settings, Request("DELETE", path))
    return [read_grant(item) for item in parse_fields(response.body, "grants").objects("items")]


def grants(settings: Settings, sha256: str) -> Steps[list[Grant]]:
    response = yield from call(settings, Request("GET", _grants_path(sha256)))
    return [read_grant(item) for item in parse_fields(response.body, "grants").objects("items")]


def pools(settings: Settings) -> Steps[list[Pool]]:
    response = yield from call(settings, Request("GET", "/v1/pools"))
    return [read_pool(item) for item in parse_fields(response.body, "pools").objects("items")]


def change_pool(settings: Settings, name: str, change: dict[str, Any]) -> Steps[Pool]:
    """Changes a pool. It is not repeated, because another operator may have changed the pool in between."""
    path = f"/v1/pools/{quote_part('name', name, 'the name of a pool as text')}"
    response = yield from call(settings, build_json_request("PATCH", path, change), repeatable=False)
    return read_pool(parse_fields(response.body, "pool"))


def events(settings: Settings, evaluation_id: str, after: int, deadline: Deadline) -> Items[Event]:
    """Yields all events after one, once each, until the end, across broken connections and restarts of the server."""
    patience = Patience(settings)
    last = after
    while True:
        error: MusterError = ServerUnavailable(f"{evaluation_id}: the stream of events ended before the evaluation did")
        headers = {"accept": "text/event-stream", "last-event-id": str(last)}
        decoder = EventDecoder()
        try:
            request = Request("GET", build_evaluation_path(evaluation_id, "events"), headers)
            response = yield from perform(Open(request, min(STREAM_IDLE_SECONDS, deadline.left())))
            if response.status == 204:
                return
            error = problem_in(response) or error
            while response.status == 200 and (chunk := (yield from perform(Read()))):
                patience.succeeded()
                for data in decoder.feed(chunk):
                    event = read_event(parse_fields(data, "event"))
                    last = event.sequence
                    yield Emit(event)
                    if event.is_last:
                        return
                deadline.left()
        except ServerUnavailable as unavailable:
            error = unavailable
        yield from perform(Pause(min(patience.pause_after(error), deadline.left())))


def episodes(settings: Settings, evaluation_id: str, first: int, arm: int) -> Items[Episode]:
    """Yields settled episodes by index. A broken stream continues where it broke."""
    patience = Patience(settings)
    next_index = first
    while True:
        decoder = LineDecoder()
        try:
            path = build_evaluation_path(evaluation_id, f"episodes?from={next_index}&arm={arm}")
            response = yield from perform(Open(Request("GET", path), STREAM_IDLE_SECONDS))
            error = problem_in(response)
            while error is None and (chunk := (yield from perform(Read()))):
                for line in decoder.feed(chunk):
                    episode = read_episode(parse_fields(line, "episode"))
                    next_index = episode.index + 1
                    patience.succeeded()
                    yield Emit(episode)
            if error is None:
                return
        except ServerUnavailable as unavailable:
            error = unavailable
        yield from perform(Pause(patience.pause_after(error)))


def _grants_path(sha256: str) -> str:
    digest = quote_part("sha256", sha256, "the SHA-256 of a checkpoint as text")
    return f"/v1/checkpoints/{digest.removeprefix('sha256%3A')}/grants"


def bring_reference(settings: Settings, given: CheckpointLike, run: str | None = None, version: int | None = None) -> Steps[dict[str, Any]]:
    checkpoint = normalize_checkpoint(given, run, version)
    digest = None if checkpoint.path is None else (yield from upload_path(settings, checkpoint.path, checkpoint.base))
    return format_checkpoint(checkpoint, digest)


def _submit_request(settings: Settings, request: Request) -> Steps[Evaluation]:
    response = yield from call(settings, request, answer_seconds=SLOW_ANSWER_SECONDS)
    return read_evaluation(parse_fields(response.body, "evaluation"))


def _get_summary(evaluation: Evaluation) -> Summary | ComparisonSummary:
    match evaluation.state:
        case "finished" if evaluation.summary is not None:
            return evaluation.summary
        case "cancelled":
            raise EvaluationCancelled(evaluation)
        case "failed":
            raise EvaluationFailed(evaluation)
        case other:
            raise ServerError(f"{evaluation.id} is {other}, and has no summary")

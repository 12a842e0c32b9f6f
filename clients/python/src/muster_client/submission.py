"""Builds bodies and queries of requests from callers' arguments."""

import json
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypedDict
from urllib.parse import urlencode

from muster_client.arguments import assert_is, assert_known, quote_part
from muster_client.effects import Request
from muster_client.errors import InvalidArgument
from muster_client.evaluation import State


class Options(TypedDict, total=False):
    """Options of any evaluation or comparison."""

    run: str | None
    """The training run to which the checkpoint belongs."""
    version: int | None
    """The training step."""
    priority: int | None
    """−100 to 100. Higher priorities come first among the caller's own evaluations."""
    deadline: datetime | timedelta | None
    """The latest time of its end, or the time until then. The figures so far are then kept, labelled partial. With an idempotency key of
    your own, give a time: a duration makes each repetition a different request.
    """
    labels: Mapping[str, str] | None
    webhook: str | None
    """A URL that is called when the evaluation is over."""
    cache: bool
    """False plays every episode again."""
    idempotency_key: str | None
    """A repeated submission with the same key is the same evaluation. By default each submission has a new key."""


class EvaluationOptions(Options, total=False):
    stop: Mapping[str, Any] | None
    """Replaces the suite's stopping rule: `{"rule": "certified", "halfWidth": 5}`, `{"rule": "fixed", "episodes": 200}`."""


class ComparisonOptions(Options, total=False):
    confidence: float | None
    """The probability that no verdict is wrong."""
    margin: float | None
    """The largest difference of means that does not matter."""
    budget_episodes: int | None
    """The largest number of episodes of all checkpoints together."""


class Filter(TypedDict, total=False):
    """The filter of a list of evaluations."""

    run: str | None
    suite: str | None
    state: State | Sequence[State] | None
    label: tuple[str, str] | None
    """A name and a value."""
    principal: str | None
    since: datetime | None
    """The earliest time of acceptance."""
    before: datetime | None
    """The time before which they were accepted."""


def build_evaluation_request(
    checkpoint: dict[str, Any], baseline: dict[str, Any] | None, suite: str | dict[str, Any], options: EvaluationOptions
) -> Request:
    body = {"checkpoint": checkpoint, "baseline": baseline, "stop": options.get("stop"), "suite": suite, **_build_common(options)}
    return _submission("/v1/evaluations", body, options)


def build_comparison_request(
    baseline: dict[str, Any], candidates: list[dict[str, Any]], suite: str | dict[str, Any], options: ComparisonOptions
) -> Request:
    terms = {
        "confidence": options.get("confidence"),
        "margin": options.get("margin"),
        "budgetEpisodes": options.get("budget_episodes"),
    }
    body = {"baseline": baseline, "candidates": candidates, "suite": suite, **terms, **_build_common(options)}
    return _submission("/v1/comparisons", body, options)


def build_evaluation_path(evaluation_id: str, *parts: str) -> str:
    return "/".join(["/v1/evaluations", quote_part("evaluation_id", evaluation_id, "text, the `id` of what `submit` returned"), *parts])


def build_list_request(filters: Filter, page_size: int, after: str | None) -> Request:
    assert_known({**filters}, Filter, ("page_size",))
    state, label = filters.get("state"), filters.get("label")
    if state is not None:
        assert_is("state", state, (str, list, tuple), 'a state such as "running", or a list of them')
    if label is not None and not (isinstance(label, tuple) and len(label) == 2 and all(isinstance(part, str) for part in label)):
        raise InvalidArgument(f'label: expected a name and its value, such as ("owner", "ppo"), got {label!r}')
    query = {
        "run": filters.get("run"),
        "suite": filters.get("suite"),
        "state": state if state is None or isinstance(state, str) else ",".join(state),
        "label": None if label is None else "=".join(label),
        "principal": filters.get("principal"),
        "from": _format_moment("since", filters.get("since")),
        "before": _format_moment("before", filters.get("before")),
        "limit": page_size,
        "after": after,
    }
    return Request("GET", "/v1/evaluations?" + urlencode({name: value for name, value in query.items() if value is not None}))


def build_json_request(method: str, path: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Request:
    """Builds a request. Members that are None are left out."""
    members = [f"{json.dumps(name)}: {_write_json(name, value)}" for name, value in body.items() if value is not None]
    return Request(method, path, {"content-type": "application/json", **(headers or {})}, f"{{{', '.join(members)}}}".encode())


def _write_json(name: str, value: object) -> str:
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidArgument(
            f"{name}: expected what JSON can say, such as texts and finite numbers, got {value!r:.200} ({error})"
        ) from error


def _submission(path: str, body: dict[str, Any], options: Options) -> Request:
    key = options.get("idempotency_key") or str(uuid.uuid4())
    if not (isinstance(key, str) and key.isascii() and key.isprintable()):
        raise InvalidArgument(f"idempotency_key: expected text of visible ASCII characters, got {key!r}")
    return build_json_request("POST", path, body, {"idempotency-key": key})


def _build_common(options: Options) -> dict[str, Any]:
    webhook, labels = options.get("webhook"), options.get("labels")
    assert_is("cache", options.get("cache", True), bool, "True, or False to play every episode again")
    if labels is not None:
        assert_is("labels", labels, Mapping, 'a mapping of names to texts, such as {"owner": "ppo"}')
    return {
        "priority": options.get("priority"),
        "deadline": _format_moment("deadline", options.get("deadline")),
        "webhook": None if webhook is None else {"url": webhook},
        "labels": None if labels is None else dict(labels),
        "cache": None if options.get("cache", True) else "off",
    }


def _format_moment(name: str, given: datetime | timedelta | None) -> str | None:
    if given is None:
        return None
    moment = datetime.now(UTC) + given if isinstance(given, timedelta) else given
    if not isinstance(moment, datetime) or moment.tzinfo is None:
        raise InvalidArgument(f"{name}: expected a time with its zone, such as datetime.now(UTC) + timedelta(minutes=5), got {moment!r}")
    return moment.isoformat(timespec="milliseconds")

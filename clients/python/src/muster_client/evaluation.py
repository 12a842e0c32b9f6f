"""Evaluations and comparisons in the server's form, and their events."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, get_args

from muster_client.errors import MusterError, ServerError
from muster_client.fields import Fields
from muster_client.summary import ComparisonSummary, Summary, read_summary

State = Literal["waiting", "running", "finished", "cancelled", "failed"]
Kind = Literal["evaluation", "comparison"]
OVER = frozenset({"finished", "cancelled", "failed"})


@dataclass(frozen=True, slots=True)
class Running:
    """The progress of an evaluation or comparison. Unknown figures are None."""

    kind: Kind
    episodes: int
    """Episodes that count in the result; in a comparison, those of all checkpoints together."""
    in_flight: int
    episodes_per_second: float
    seconds: float
    seconds_left: float | None
    mean: float | None
    """An evaluation's estimate; None for comparisons, like the two that follow."""
    half_width: float | None
    target: float | None
    """The half-width that ends the evaluation."""
    raw: dict[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Failure:
    """The reason why there is no answer, or only a partial one."""

    code: str
    message: str
    kind: str = "infrastructure"
    """`input`: the request has to be corrected. `infrastructure`: the same may succeed later."""


@dataclass(frozen=True, slots=True)
class PlayedCheckpoint:
    part: str
    """`subject`, `baseline` or `candidate`."""
    uri: str
    digest: str
    name: str | None = None
    """The caller's name for it."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A request, its progress and its answer."""

    id: str
    kind: Kind
    state: State
    principal: str
    """The principal that submitted it."""
    suite: str
    checkpoints: tuple[PlayedCheckpoint, ...]
    run: str | None
    version: int | None
    labels: dict[str, str]
    priority: int
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    cancel_requested_at: datetime | None
    running: Running | None
    """The latest figures; None before there are any."""
    failure: Failure | None
    withheld: bool
    """Whether text of programs in sandboxes was left out because the caller may not use all of the checkpoints."""
    summary: Summary | ComparisonSummary | None
    """The answer, which may be partial. None before the end, and in lists."""
    raw: dict[str, Any] = field(repr=False)

    @property
    def is_over(self) -> bool:
        return self.state in OVER


@dataclass(frozen=True, slots=True)
class Event:
    """An event of an evaluation."""

    sequence: int
    """1, 2, … in its evaluation, without a gap."""
    type: str
    """`state`, `progress` or `verdict`."""
    at: datetime
    data: dict[str, Any]

    @property
    def running(self) -> Running | None:
        """The figures of a `progress` event; None for other events."""
        return read_running(Fields(self.data, "event.data")) if self.type == "progress" else None

    @property
    def is_last(self) -> bool:
        """Whether no event follows."""
        return self.type == "state" and self.data.get("state") in OVER


class EvaluationEnded(MusterError):
    """An evaluation or comparison that is over without the requested answer."""

    def __init__(self, evaluation: Evaluation) -> None:
        super().__init__(_describe(evaluation))
        self.evaluation = evaluation

    @property
    def code(self) -> str | None:
        """The reason, for programs: `evaluation.deadline`; None when a caller cancelled it."""
        return self.evaluation.failure.code if self.evaluation.failure else None

    @property
    def summary(self) -> Summary | ComparisonSummary | None:
        """The figures at its end, labelled partial; None when there are none."""
        return self.evaluation.summary


class EvaluationFailed(EvaluationEnded):
    """An evaluation that could not be played to its end."""


class EvaluationCancelled(EvaluationEnded):
    """An evaluation that a caller cancelled, a newer version of its run replaced, or its deadline ended."""


def _describe(evaluation: Evaluation) -> str:
    why = f": {evaluation.failure.message}" if evaluation.failure else ""
    kept = "; what is known is in `summary`" if evaluation.summary else ""
    return f"{evaluation.id} {'was cancelled' if evaluation.state == 'cancelled' else 'failed'}{why}{kept}"


def _read_failure(fields: Fields) -> Failure:
    return Failure(fields.text("code"), fields.text("message"), fields.optional("kind", fields.text) or "infrastructure")


def _read_played(fields: Fields) -> PlayedCheckpoint:
    return PlayedCheckpoint(fields.text("part"), fields.text("uri"), fields.text("digest"), fields.optional("name", fields.text))


def read_evaluation(fields: Fields) -> Evaluation:
    summary = fields.optional("summary", fields.object)
    running = fields.optional("running", fields.object)
    failure = fields.optional("failure", fields.object)
    labels = fields.object("labels")
    return Evaluation(
        id=fields.text("id"),
        kind=_read_choice(Kind, fields.text("kind")),
        state=_read_choice(State, fields.text("state")),
        principal=fields.text("principal"),
        suite=fields.text("suite"),
        checkpoints=tuple(_read_played(each) for each in fields.objects("checkpoints")),
        run=fields.optional("run", fields.text),
        version=fields.optional("version", fields.whole),
        labels={name: labels.text(name) for name in labels.raw},
        priority=fields.whole("priority"),
        created_at=fields.moment("createdAt"),
        started_at=fields.optional("startedAt", fields.moment),
        ended_at=fields.optional("endedAt", fields.moment),
        cancel_requested_at=fields.optional("cancelRequestedAt", fields.moment),
        running=None if running is None else read_running(running),
        failure=None if failure is None else _read_failure(failure),
        withheld=fields.optional("withheld", fields.flag) or False,
        summary=None if summary is None else read_summary(summary),
        raw=fields.raw,
    )


def read_running(fields: Fields) -> Running:
    return Running(
        kind=_read_choice(Kind, fields.text("kind")),
        episodes=fields.whole("episodes"),
        in_flight=fields.whole("inFlight"),
        episodes_per_second=fields.number("episodesPerSecond"),
        seconds=fields.number("seconds"),
        seconds_left=fields.optional("secondsLeft", fields.number),
        mean=fields.optional("mean", fields.number),
        half_width=fields.optional("halfWidth", fields.number),
        target=fields.optional("target", fields.number),
        raw=fields.raw,
    )


def read_event(fields: Fields) -> Event:
    return Event(fields.whole("sequence"), fields.text("type"), fields.moment("at"), fields.object("data").raw)


def _read_choice(choices: Any, text: str) -> Any:
    if text in get_args(choices):
        return text
    raise ServerError(f"the server sent {text!r} where one of {get_args(choices)} was expected; update muster-client")

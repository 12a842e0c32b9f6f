"""The answers of evaluations and comparisons. Figures are in units of the return unless stated otherwise."""

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from muster_client.errors import ServerError
from muster_client.fields import Fields

Verdict = Literal["promote", "regress", "equivalent", "inconclusive"]


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval. Its centre need not be the mean."""

    low: float
    high: float
    confidence: float
    """The nominal probability that it contains the true value."""
    method: str
    guarantee: str
    """The promise of the confidence, in words."""

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2


@dataclass(frozen=True, slots=True)
class Summary:
    """The result of an evaluation."""

    suite: str
    suite_digest: str
    checkpoint: str
    """The checkpoint's digest, `sha256:…`."""
    mean: float | None
    """The estimate of the suite's mean; None when no episode has a score."""
    bias_reduced_mean: float | None
    """The mean, corrected for the bias of stopping when the returns decide: the one to quote."""
    interval: Interval | None
    """The confidence interval of the mean."""
    variance: float | None
    standard_error: float | None
    target_half_width: float | None
    """The half-width of the stopping rule."""
    episodes: int
    """The number of episodes that count, in the order of their indices."""
    unresolved: int
    """The number of episodes that the infrastructure lost for good. They widen the interval."""
    success_rate: float | None
    """None unless the suite defines a success."""
    ended: str
    """The reason of the end: `rule`, `episodes`, `seconds`, `cost`, `failures`, `interrupted` or `failed`."""
    partial: bool
    """Whether it ended before its stopping rule was satisfied or all its episodes were played."""
    warnings: tuple[str, ...]
    """Warnings about these figures."""
    raw: dict[str, Any] = field(repr=False)
    """The whole summary, as the server sent it."""

    @property
    def official(self) -> dict[str, Any]:
        """The part that checkpoint, suite and stopping rule alone decide, so that it is always the same."""
        official: dict[str, Any] = self.raw["official"]
        return official

    @property
    def satisfied(self) -> bool:
        """Whether the stopping rule was satisfied: the interval is as narrow as required, or every episode was played."""
        return not self.partial and self.official.get("endedBy") == "rule"


@dataclass(frozen=True, slots=True)
class CandidateResult:
    """The result of a comparison for one candidate. Differences are candidate minus baseline, on the same episodes."""

    checkpoint: str
    """The candidate's digest, `sha256:…`."""
    verdict: Verdict
    pairs: int
    """The number of episodes that both have played."""
    decided_at: int | None
    """The number of pairs at which the verdict was reached."""
    mean: float | None
    baseline_mean: float | None
    difference: float | None
    bias_reduced_difference: float | None
    """The difference, corrected for the bias of stopping when the verdict decides: the one to quote."""
    interval: Interval | None
    """The confidence interval of the mean difference."""
    warnings: tuple[str, ...]
    raw: dict[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class ComparisonSummary:
    """The result of a comparison."""

    suite: str
    suite_digest: str
    baseline: str
    """The baseline's digest, `sha256:…`."""
    verdict: Verdict
    """The best verdict of any candidate."""
    candidates: tuple[CandidateResult, ...]
    """The candidates in the order in which they were given."""
    episodes: int
    """The number of episodes of all checkpoints together."""
    margin: float
    """The largest difference of means that does not matter."""
    ended: str
    """The reason of the end: `verdicts`, `episodes`, `seconds`, `cost`, `failures`, `interrupted` or `failed`."""
    partial: bool
    warnings: tuple[str, ...]
    raw: dict[str, Any] = field(repr=False)

    @property
    def official(self) -> dict[str, Any]:
        """The part that checkpoints, suite and terms alone decide, so that it is always the same."""
        official: dict[str, Any] = self.raw["official"]
        return official


def read_summary(fields: Fields) -> Summary | ComparisonSummary:
    match fields.text("schema"):
        case "muster.summary/1":
            return _evaluation_summary(fields)
        case "muster.comparison/1":
            return _read_comparison_summary(fields)
        case other:
            raise ServerError(f"the server sent a summary of the form {other}, which this client does not know; update muster-client")


def _evaluation_summary(fields: Fields) -> Summary:
    official = fields.object("official")
    suite = official.object("suite")
    success = official.optional("success", official.object)
    return Summary(
        suite=suite.text("name"),
        suite_digest=suite.text("digest"),
        checkpoint=official.object("checkpoint").text("digest"),
        mean=official.optional("mean", official.number),
        bias_reduced_mean=official.optional("biasReducedMean", official.number),
        interval=_read_interval(official),
        variance=official.optional("variance", official.number),
        standard_error=official.optional("standardError", official.number),
        target_half_width=official.optional("targetHalfWidth", official.number),
        episodes=official.whole("episodes"),
        unresolved=official.whole("unresolved"),
        success_rate=None if success is None else success.optional("rate", success.number),
        ended=fields.text("ended"),
        partial=fields.flag("partial"),
        warnings=(*official.texts("warnings"), *fields.texts("warnings")),
        raw=fields.raw,
    )


def _read_comparison_summary(fields: Fields) -> ComparisonSummary:
    official = fields.object("official")
    suite = official.object("suite")
    return ComparisonSummary(
        suite=suite.text("name"),
        suite_digest=suite.text("digest"),
        baseline=official.object("baseline").text("digest"),
        verdict=_read_verdict(fields),
        candidates=tuple(_read_candidate(candidate) for candidate in official.objects("candidates")),
        episodes=official.whole("episodes"),
        margin=official.number("margin"),
        ended=fields.text("ended"),
        partial=fields.flag("partial"),
        warnings=(*official.texts("warnings"), *fields.texts("warnings")),
        raw=fields.raw,
    )


def _read_candidate(fields: Fields) -> CandidateResult:
    return CandidateResult(
        checkpoint=fields.text("name"),
        verdict=_read_verdict(fields),
        pairs=fields.whole("pairs"),
        decided_at=fields.optional("decidedAt", fields.whole),
        mean=fields.optional("mean", fields.number),
        baseline_mean=fields.optional("baselineMean", fields.number),
        difference=fields.optional("difference", fields.number),
        bias_reduced_difference=fields.optional("biasReducedDifference", fields.number),
        interval=_read_interval(fields),
        warnings=fields.texts("warnings"),
        raw=fields.raw,
    )


def _read_interval(fields: Fields) -> Interval | None:
    found = fields.optional("interval", fields.object)
    if found is None:
        return None
    return Interval(found.number("low"), found.number("high"), found.number("confidence"), found.text("method"), found.text("guarantee"))


def _read_verdict(fields: Fields) -> Verdict:
    text = fields.text("verdict")
    for verdict in get_args(Verdict):
        if text == verdict:
            known: Verdict = verdict
            return known
    raise ServerError(f"the server sent the verdict {text}, which this client does not know; update muster-client")

"""Decides which checkpoint is the best so far, by intervals and not by luck."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from muster_client import Summary

Standing = Literal["first", "better", "worse", "undecided"]


@dataclass(frozen=True, slots=True)
class Score:
    """A checkpoint's certified result, in units of the return."""

    step: int
    """The training step at which the checkpoint was taken."""
    file: str
    """The exported policy's path."""
    evaluation: str
    """The evaluation's id on the server."""
    mean: float
    """The mean, corrected for the bias that results from stopping when the returns decide."""
    low: float
    high: float
    episodes: int

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def score_of(summary: Summary, step: int, file: str, evaluation: str) -> Score | None:
    """Returns the score of a summary; None when no episode has a score."""
    mean = summary.mean if summary.bias_reduced_mean is None else summary.bias_reduced_mean
    if mean is None or summary.interval is None:
        return None
    return Score(step, file, evaluation, mean, summary.interval.low, summary.interval.high, summary.episodes)


def standing(score: Score, best: Score | None) -> Standing:
    """Returns `better` or `worse` only if the two intervals do not overlap."""
    if best is None:
        return "first"
    if score.low > best.high:
        return "better"
    return "worse" if score.high < best.low else "undecided"

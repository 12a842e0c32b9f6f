"""Which checkpoint is the best so far: by intervals, and not by luck."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from muster_client import Summary

Standing = Literal["first", "better", "worse", "undecided"]


@dataclass(frozen=True, slots=True)
class Score:
    """A checkpoint's certified result, in units of the return."""

    step: int
    """Step of the training when the checkpoint was taken."""
    file: str
    """The exported policy's path."""
    evaluation: str
    """Its id on the server."""
    mean: float
    """Less the bias that it has because the returns decided when to stop."""
    low: float
    high: float
    episodes: int

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def score_of(summary: Summary, step: int, file: str, evaluation: str) -> Score | None:
    """None where no episode has a score."""
    mean = summary.mean if summary.bias_reduced_mean is None else summary.bias_reduced_mean
    if mean is None or summary.interval is None:
        return None
    return Score(step, file, evaluation, mean, summary.interval.low, summary.interval.high, summary.episodes)


def standing(score: Score, best: Score | None) -> Standing:
    """`better` or `worse` only where the two intervals have nothing in common."""
    if best is None:
        return "first"
    if score.low > best.high:
        return "better"
    return "worse" if score.high < best.low else "undecided"

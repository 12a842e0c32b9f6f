"""Evaluates a checkpoint every so many steps, and the last policy. The callbacks of all training libraries use it."""

import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypedDict, Unpack

from muster.sinks.named_sinks import Log
from muster.training.evaluator import TrainingEvaluator
from muster.training.settings import Busy, assert_steps
from muster.training.standing import Score
from muster.training.work import Written
from muster_client import SuiteLike

logger = logging.getLogger("muster")

Export = Callable[[], Written]
"""Takes a snapshot of the policy."""


class EvaluatorOptions(TypedDict, total=False):
    """Options of a TrainingEvaluator, which documents each."""

    directory: str | os.PathLike[str] | None
    run: str | None
    server: str | None
    token: str | None
    log: Log
    busy: Busy
    until: float | None
    stop: Mapping[str, Any] | None


class PeriodicEvaluator:
    """Counts the steps of a training for a TrainingEvaluator. It can be copied and pickled; a copy starts from the beginning."""

    def __init__(self, suite: SuiteLike, every: int, **options: Unpack[EvaluatorOptions]) -> None:
        """@param every: steps between two checkpoints. Raises InvalidArgument."""
        assert_steps(every)
        self._every = every
        self._taken_at = 0
        self._handed_over_at: int | None = None
        self.evaluator = TrainingEvaluator(suite, **options)

    @property
    def best(self) -> Score | None:
        return self.evaluator.best

    def begin(self, step: int, log_directory: str | os.PathLike[str] | None = None) -> None:
        """@param step: the first step of the training. @param log_directory: where the trainer writes its event files."""
        self._taken_at, self._handed_over_at = step, None
        if log_directory is not None:
            self.evaluator.log_directory = Path(log_directory)
        self.evaluator.start()

    def step(self, step: int, export: Export) -> bool:
        """Counts steps. Call it after each step, or after several. Returns False once the target is certified, so that the training may
        end.
        """
        if step // self._every > self._taken_at // self._every:
            self._taken_at = step
            if self.evaluator.checkpoint(step, export):
                self._handed_over_at = step
        if self.evaluator.reached:
            logger.info("the training ends at step %d: the target is certified", step)
        return not self.evaluator.reached

    def finish(self, step: int, export: Export) -> Score | None:
        """Evaluates the last policy, waits for the result, and returns the best score."""
        if step != self._handed_over_at:
            self.evaluator.checkpoint(step, export, final=True)
        return self.evaluator.finish()

    def close(self) -> None:
        """Ends after a failure, without the last policy. A training in the same directory continues the accepted evaluations."""
        self.evaluator.close()

"""The work of the thread beside the training: it writes, evaluates and records checkpoints one after the other."""

import hashlib
import json
import logging
import shutil
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any, Protocol
from urllib.parse import quote

from muster.embedded import ServerNotStarted
from muster.exporting.portable_file import UNFINISHED, write_whole
from muster.sinks.named_sinks import Sinks
from muster.training.record import Accepted, Record
from muster.training.standing import Score, Standing, score_of, standing
from muster_client import Client, Evaluation, InvalidArgument, MusterError, ServerAnswer, ServerUnavailable, SuiteLike, Summary

logger = logging.getLogger("muster")

FIRST_LOOK_SECONDS = 0.25
LONGEST_LOOK_SECONDS = 2.0
"""Longest pause between two queries about an evaluation. Each query takes some milliseconds of the trainer's time."""
RETRY_SECONDS = 5.0
"""Pause between two attempts to reach a server that is gone."""


class Written(Protocol):
    """A policy at one moment, which another thread can write."""

    @property
    def suffix(self) -> str:
        """The suffix of its file: `.safetensors`, `.onnx`, …"""

    def write(self, path: Path) -> None:
        """Writes the file. @raises MusterError when the policy cannot be written, or does not act as the trainer's does."""


@dataclass(frozen=True, eq=False)
class Taken:
    step: int
    written: Written


class Abandoned(Exception):
    """The evaluator was closed. Accepted checkpoints stay accepted."""


class Work:
    """Has a server evaluate checkpoints; logs and records the results. All failures are warnings."""

    def __init__(self, suite: SuiteLike, run: str, directory: Path, sinks: Sinks, stop: Any, closing: Event, address: str | None) -> None:
        """@param address: the address of a server that outlives the training, and shows evaluations on its page."""
        self._suite, self._run, self._stop = suite, run, stop
        self._checkpoints = directory / "checkpoints"
        self.directory = directory
        self._record = Record(directory)
        self._sinks = sinks
        self._closing = closing
        self._address = address
        self._gone_since: float | None = None
        for unfinished in self._checkpoints.glob(f".*{UNFINISHED}"):
            # A killed process has left it.
            unfinished.unlink()
        scores = self._record.scores()
        self.best: Score | None = None
        for score in scores:
            if standing(score, self.best) in ("first", "better"):
                self.best = score

    @property
    def gone_seconds(self) -> float:
        """The seconds for which the server has been unreachable."""
        since = self._gone_since
        return 0.0 if since is None else time.monotonic() - since

    def waiting(self) -> list[Accepted]:
        """Returns checkpoints that an earlier process accepted, and whose evaluations are unfinished."""
        return self._record.waiting()

    def accept(self, taken: Taken) -> Accepted | None:
        """Writes a checkpoint and makes it durable. Returns None, after a warning, when it was refused."""
        path = self._checkpoints / f"step-{taken.step}{taken.written.suffix}"
        if path.exists():
            # An earlier checkpoint of this step may still be waiting for its upload.
            path = path.with_stem(f"{path.stem}-{uuid.uuid4().hex[:8]}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            taken.written.write(path)
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            accepted = Accepted(taken.step, path.name, f"{self._run}-{taken.step}-{digest[:16]}")
            self._record.accept(accepted)
        except (MusterError, OSError) as error:
            logger.warning("the checkpoint of step %d is not evaluated: %s", taken.step, error)
            return None
        return accepted

    def evaluate(self, accepted: Accepted, connect: Callable[[], Client]) -> tuple[Score, Standing] | None:
        """Evaluates a checkpoint. @raises Abandoned when the evaluator is closed before the answer."""
        while not self._closing.is_set():
            try:
                return self._take_answer(accepted, connect)
            except (ServerUnavailable, ServerNotStarted) as error:
                if self._gone_since is None:
                    logger.warning("step %d waits for a server: %s", accepted.step, error)
                    self._gone_since = time.monotonic()
                self._closing.wait(RETRY_SECONDS)
            except (MusterError, OSError) as error:
                self._refuse(accepted, error)
                return None
        raise Abandoned

    def _take_answer(self, accepted: Accepted, connect: Callable[[], Client]) -> tuple[Score, Standing] | None:
        path = self._checkpoints / accepted.file
        client = connect()
        evaluation = client.submit(path, self._suite, stop=self._stop, run=self._run, version=accepted.step, idempotency_key=accepted.key)
        self._gone_since = None
        summary = self._await_summary(connect, evaluation, accepted.step)
        score = score_of(summary, accepted.step, str(path), evaluation.id)
        if score is None:
            raise InvalidArgument("no episode has a score")
        return score, self._conclude(accepted, score, summary, connect())

    def _await_summary(self, connect: Callable[[], Client], evaluation: Evaluation, step: int) -> Summary:
        seconds, has_estimate = FIRST_LOOK_SECONDS, False
        while not evaluation.is_over:
            running = evaluation.running
            if running is not None and running.mean is not None and not has_estimate:
                has_estimate = True
                self._sinks.log(step, {"estimate": running.mean})
                logger.info("step %d: about %.6g after %d episodes", step, running.mean, running.episodes)
            if self._closing.wait(seconds):
                raise Abandoned
            seconds = min(seconds * 1.5, LONGEST_LOOK_SECONDS)
            evaluation = connect().get(evaluation.id)
        if not isinstance(evaluation.summary, Summary) or evaluation.state != "finished":
            why = evaluation.failure.message if evaluation.failure else f"the evaluation was {evaluation.state}"
            raise InvalidArgument(why)
        if not has_estimate and evaluation.summary.mean is not None:
            self._sinks.log(step, {"estimate": evaluation.summary.mean})
        return evaluation.summary

    def _conclude(self, accepted: Accepted, score: Score, summary: Summary, client: Client) -> Standing:
        found = standing(score, self.best)
        figures = {"mean": score.mean, "low": score.low, "high": score.high, "half_width": score.half_width}
        flags = {"better": float(found in ("first", "better")), "regress": float(found == "worse")}
        # Figures are logged before the checkpoint is concluded: if the process is killed in between, the same figures are logged again.
        self._sinks.log(accepted.step, {**figures, "episodes": float(score.episodes), **flags})
        logger.info("step %d: %.6g [%.6g, %.6g], %d episodes", score.step, score.mean, score.low, score.high, score.episodes)
        self._keep_documents(score, summary, client)
        if found in ("first", "better"):
            self._keep_best(score)
        self._record.conclude(accepted.key, score)
        return found

    def _keep_documents(self, score: Score, summary: Summary, client: Client) -> None:
        """Stores summary and report in the run's directory, the report in the sinks, and logs the page on which the server shows it."""
        report = self.directory / "reports" / f"step-{score.step}.html"
        try:
            write_whole(self.directory / "summaries" / f"step-{score.step}.json", json.dumps(summary.raw, indent=2).encode())
            write_whole(report, client.report(score.evaluation).encode())
            self._sinks.keep(score.step, report)
        except (MusterError, OSError) as error:
            logger.warning("summary and report of step %d cannot be kept: %s", score.step, error)
        if self._address is not None:
            self._sinks.link(score.step, f"{self._address}/evaluations/{quote(score.evaluation, safe='')}")

    def _keep_best(self, score: Score) -> None:
        """Copies the best policy to a fixed name, with its figures."""
        self.best = score
        source = Path(score.file)
        try:
            for former in self.directory.glob("best.*"):
                former.unlink()
            shutil.copyfile(source, self.directory / f"best{source.suffix}")
            write_whole(self.directory / "best.json", json.dumps(score.as_json(), indent=2).encode())
        except OSError as error:
            logger.warning("the best policy cannot be kept beside the run: %s; it is %s", error, source)

    def _refuse(self, accepted: Accepted, error: Exception) -> None:
        remedy = f"; {error.errors[0].expected}" if isinstance(error, ServerAnswer) and error.errors and error.errors[0].expected else ""
        logger.warning("the checkpoint of step %d has no answer: %s%s", accepted.step, error, remedy)
        self._record.conclude(accepted.key, None, str(error))

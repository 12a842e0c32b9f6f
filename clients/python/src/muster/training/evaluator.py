"""Evaluates a training run's checkpoints beside the training, in a thread that waits for a server most of the time."""

import logging
import os
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from threading import Condition, Event, Thread
from typing import Any, Self

from muster.sinks.named_sinks import Log, open_sinks
from muster.training.record import Accepted, alone
from muster.training.serving import Connection
from muster.training.settings import RUNS, Busy, Settings, is_first_rank, new_directory
from muster.training.standing import Score
from muster.training.work import Abandoned, Taken, Work, Written
from muster_client import InvalidArgument, MusterError, SuiteLike
from muster_client.arguments import suggests_keywords_of_methods

logger = logging.getLogger("muster")

JOIN_SECONDS = 0.1
GONE_SECONDS = 60.0
"""Seconds for which the end of a training waits for a server that cannot be reached."""


@suggests_keywords_of_methods
class TrainingEvaluator:
    """Takes checkpoints from a training loop, and evaluates them while the training goes on.

    It opens nothing before the first checkpoint. Until then it can be copied and pickled; a copy begins anew. In a forked process, and
    in every rank of a distributed training but the first, it does nothing.

    @param suite: name that the server knows, path of a YAML or JSON file, or the suite as a mapping.
    @param directory: of the run. Evaluations that a killed process has left unfinished there are continued. A new one in `muster-runs`
        when left out.
    @param run: label of the run on the server; the directory's name when left out.
    @param server: its address; MUSTER_URL when left out, and without that a server of its own, which ends with this process.
    @param log: where figures are logged: tensorboard, wandb, mlflow, aim, csv, a Sink, or several of them.
    @param log_directory: of event files and CSV files; `directory` when left out.
    @param busy: what happens to a checkpoint while an earlier one is evaluated: `skip`, `queue`, or `wait`, which stops the training.
    @param until: `reached` is true once the lower end of a certified interval is at least this return.
    @param stop: in place of the suite's stopping rule: `{"rule": "fixed", "episodes": 200}`.
    """

    _thread: Thread | None
    _work: Work | None
    _queue: deque[Taken]
    _regression: tuple[Score, Score] | None

    def __init__(
        self,
        suite: SuiteLike,
        *,
        directory: str | os.PathLike[str] | None = None,
        run: str | None = None,
        server: str | None = None,
        token: str | None = None,
        log: Log = None,
        log_directory: str | os.PathLike[str] | None = None,
        busy: Busy = "skip",
        until: float | None = None,
        stop: Mapping[str, Any] | None = None,
    ) -> None:
        self._settings = Settings(suite, None if directory is None else Path(directory), run, server, token, log, busy, until, stop)
        self.log_directory = None if log_directory is None else Path(log_directory)
        self._forget()

    def __getstate__(self) -> dict[str, Any]:
        return {"_settings": self._settings, "log_directory": self.log_directory}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def best(self) -> Score | None:
        """The score of the best checkpoint. Another one replaces it when its interval lies above this one's."""
        return None if self._work is None else self._work.best

    @property
    def directory(self) -> Path | None:
        """The directory of the run; None before it is chosen."""
        return self._settings.directory if self._work is None else self._work.directory

    @property
    def reached(self) -> bool:
        """Whether a certified interval is at or above `until`."""
        return self._reached

    def start(self) -> bool:
        """Continues the evaluations that are unfinished in the directory. Returns whether this process evaluates."""
        return self._is_ready()

    def checkpoint(self, step: int, export: Callable[[], Written], *, final: bool = False) -> bool:
        """Hands a checkpoint over. Returns whether it was taken: not while another one is evaluated under `busy="skip"`.

        @param step: of the training, 0 or more.
        @param export: takes the policy as it is now, in this thread. Another thread writes the file.
        @param final: the checkpoint is taken also while an earlier one is evaluated, and evaluated after it.
        Raises nothing: each failure is a warning of the logger `muster`, and the training goes on.
        """
        if not self._is_ready():
            return False
        if self._settings.busy == "wait" and not final:
            self._wait(lambda: self._is_idle)
        elif self._settings.busy == "skip" and not final and not self._is_idle:
            logger.info("step %d is left out: an earlier checkpoint is being evaluated", step)
            return False
        try:
            taken = Taken(step, export())
        except MusterError as error:
            logger.warning("the checkpoint of step %d is not evaluated: %s", step, error)
            return False
        with self._changed:
            self._queue.append(taken)
            self._changed.notify_all()
        return True

    def take_regression(self) -> tuple[Score, Score] | None:
        """Returns the latest checkpoint whose interval lies below the best one's, and the best; each regression once. The training may
        return to it.
        """
        regression, self._regression = self._regression, None
        return regression

    def finish(self, timeout: float | None = None) -> Score | None:
        """Waits until everything that was handed over is concluded, closes, and returns the best score.

        @param timeout: seconds to wait at most. An evaluation that is unfinished then is continued by the next evaluator of this directory.
        """
        if self._thread is None or self._pid != os.getpid():
            return self.best
        logger.info("waiting for evaluations: %d", len(self._queue) + self._is_busy)
        with self._changed:
            self._is_ending = True
            self._changed.notify_all()
        try:
            self._wait(lambda: False, timeout)
        finally:
            self.close()
        return self.best

    def close(self) -> None:
        """Ends the thread, and closes what was opened. Accepted checkpoints stay in the directory."""
        if self._thread is None or self._pid != os.getpid():
            return
        self._closing.set()
        with self._changed:
            self._changed.notify_all()
        self._thread.join()
        self._thread = None
        self._open.close()

    @property
    def _is_idle(self) -> bool:
        return not self._queue and not self._is_busy

    def _forget(self) -> None:
        """Resets the state to that before anything was opened."""
        self._pid = os.getpid()
        self._thread = None
        self._work = None
        self._open = ExitStack()
        self._closing, self._changed = Event(), Condition()
        self._queue = deque()
        self._is_busy = self._is_ending = self._reached = self._is_refused = False
        self._regression = None

    def _is_ready(self) -> bool:
        if self._is_refused or self._pid != os.getpid() or not is_first_rank():
            return False
        return self._thread is not None or self._start()

    def _start(self) -> bool:
        settings = self._settings
        self._closing.clear()
        self._is_ending = False
        self._open = ExitStack()
        try:
            directory = settings.directory or new_directory(RUNS)
            self._open.enter_context(alone(directory))
            connection = self._open.enter_context(Connection(settings.server, settings.token, directory))
            sinks = open_sinks(settings.log, self.log_directory or directory)
            self._open.callback(sinks.close)
            run = settings.run or directory.resolve().name
            self._work = Work(connection.suite(settings.suite), run, directory, sinks, settings.stop, self._closing, connection.address)
        except (InvalidArgument, OSError) as error:
            logger.warning("nothing is evaluated: %s", error)
            self._open.close()
            self._is_refused = True
            return False
        self._is_busy = bool(self._work.waiting())
        self._thread = Thread(target=self._run, args=(self._work, connection), name="muster", daemon=True)
        self._thread.start()
        return True

    def _run(self, work: Work, connection: Connection) -> None:
        try:
            for accepted in work.waiting():
                self._evaluate(work, accepted, connection)
            while (taken := self._next()) is not None:
                if (accepted_now := work.accept(taken)) is not None:
                    self._evaluate(work, accepted_now, connection)
        except Abandoned:
            pass
        except Exception:
            logger.exception("evaluating beside the training has failed; the training continues without it")
        finally:
            self._is_busy = False

    def _next(self) -> Taken | None:
        with self._changed:
            while not self._queue:
                self._is_busy = False
                if self._is_ending or self._closing.is_set():
                    return None
                self._changed.wait()
            self._is_busy = True
            return None if self._closing.is_set() else self._queue.popleft()

    def _evaluate(self, work: Work, accepted: Accepted, connection: Connection) -> None:
        former = work.best
        if (answer := work.evaluate(accepted, connection.client)) is None:
            return
        score, found = answer
        if found == "worse" and former is not None:
            self._regression = (score, former)
        if self._settings.until is not None and score.low >= self._settings.until:
            self._reached = True

    def _wait(self, is_over: Callable[[], bool], timeout: float | None = None) -> None:
        """Waits until `is_over` returns true, the time is over, or the server has been unreachable for too long."""
        begin, is_said = time.monotonic(), False
        while self._thread is not None and self._thread.is_alive() and not is_over():
            self._thread.join(JOIN_SECONDS)
            gone = 0.0 if self._work is None else self._work.gone_seconds
            if gone > 0 and not is_said:
                is_said = True
                logger.warning("the server does not answer; after %g s without an answer it is waited for no longer", GONE_SECONDS)
            if gone > GONE_SECONDS or (timeout is not None and time.monotonic() - begin > timeout):
                logger.warning("evaluations are unfinished; the next evaluator of the directory %s continues them", self.directory)
                return

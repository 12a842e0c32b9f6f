"""Evaluates a Stable-Baselines3 model beside its training."""

import logging
import os
import signal
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

from stable_baselines3.common.callbacks import BaseCallback

from muster.exporting.errors import ExportError
from muster.exporting.portable_file import assert_writable
from muster.exporting.snapshot import Snapshot
from muster.sb3.live_observations import SeenObservations, get_environment_space
from muster.sb3.normalisation import find_normaliser, read_statistics
from muster.sb3.observations import ObservationPath
from muster.sb3.policies import read_network
from muster.sb3.snapshot import take_snapshot
from muster.sinks.named_sinks import Log
from muster.training.evaluator import TrainingEvaluator
from muster.training.settings import Busy, assert_steps
from muster.training.standing import Score
from muster_client import InvalidArgument, SuiteLike
from muster_client.arguments import suggests_keywords

logger = logging.getLogger("muster")

OnRegress = Callable[[Score, Score], None]
"""A function that is called in the training's thread when the interval of a checkpoint lies below that of the best one. It gets both
scores.
"""


class MusterCallback(BaseCallback):
    """Exports the policy every so many steps, and has it evaluated while the training goes on.

    The policy at the end is always evaluated, and waited for, also after Ctrl-C: `learn` then raises KeyboardInterrupt as it does without
    this callback. A second Ctrl-C does not wait. Failures are warnings of the logger `muster`.

    @param suite: path of a YAML or JSON file, name that the server knows, or a mapping.
    @param every: steps of all environments together between two checkpoints.
    @param log: tensorboard, wandb, mlflow, aim, csv, a Sink, or several. Figures have the checkpoint's step, whenever they come.
    @param directory: of the run: checkpoints, summaries, the best policy. Evaluations that a killed training has left unfinished there
        are continued. A new one in `muster-runs` when left out.
    @param server: its address; MUSTER_URL when left out, and without that a server of this program's own.
    @param busy: what happens to a checkpoint while an earlier one is evaluated: `skip`, `queue`, or `wait`, which stops the training.
    @param until: the training ends once a certified interval's lower end is at least this return.
    @param on_regress: see OnRegress.
    @param stop: in place of the suite's stopping rule.
    @param vec_normalize: "none" to evaluate without the statistics of the environment's VecNormalize.
    """

    @suggests_keywords
    def __init__(
        self,
        suite: SuiteLike,
        *,
        every: int,
        log: Log = None,
        directory: str | os.PathLike[str] | None = None,
        run: str | None = None,
        server: str | None = None,
        token: str | None = None,
        busy: Busy = "skip",
        until: float | None = None,
        on_regress: OnRegress | None = None,
        stop: Mapping[str, Any] | None = None,
        vec_normalize: Any = None,
    ) -> None:
        super().__init__()
        assert_steps(every)
        if on_regress is not None and not callable(on_regress):
            raise InvalidArgument(f"on_regress: expected a function of two scores, got {on_regress!r}")
        self._every = every
        self._on_regress = on_regress
        self._vec_normalize = vec_normalize
        self.evaluator = TrainingEvaluator(
            suite, directory=directory, run=run, server=server, token=token, log=log, busy=busy, until=until, stop=stop
        )
        self._forget()

    def __getstate__(self) -> dict[str, Any]:
        """Returns the state before any training, without the model."""
        kept = ("verbose", "_every", "_on_regress", "_vec_normalize", "evaluator")
        return {name: self.__dict__[name] for name in kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__init__(state["verbose"])
        self.__dict__.update(state)
        self._forget()

    @property
    def best(self) -> Score | None:
        """The score of the best checkpoint. Another one replaces it when its interval lies above this one's."""
        return self.evaluator.best

    def _forget(self) -> None:
        self._seen: SeenObservations | None = None
        self._window = 0
        # Steps between these two need no work.
        self._quiet_from = self._quiet_until = 0
        self._is_interrupted = False
        self._former_handler: Any = None

    def _on_training_start(self) -> None:
        self._forget()
        self._seen = SeenObservations(self.training_env)
        self._window = self._seen.steps * self.training_env.num_envs
        self._quiet_from = self.num_timesteps + self._window
        self._quiet_until = self._get_next_step() - self._window
        if self.model.tensorboard_log is not None:
            self.evaluator.log_directory = Path(self.logger.dir)
        self._warn_if_not_writable()
        self.evaluator.start()
        self._await_interrupts()

    def _on_step(self) -> bool:
        step = self.num_timesteps
        if step <= self._quiet_from or step >= self._quiet_until:
            self._look(step)
        if self._on_regress is not None and (regression := self.evaluator.take_regression()) is not None:
            self._on_regress(*regression)
        if self.evaluator.reached:
            logger.info("the training ends at step %d: the target is certified", step)
            return False
        return not self._is_interrupted

    def _look(self, step: int) -> None:
        """Looks for work. Called around a checkpoint, and at the beginning."""
        if self._seen is None:
            return
        self._seen.look(self.locals["new_obs"])
        # The last policy is taken at the end, after the last update.
        if step >= self._quiet_until + self._window and step < self.model._total_timesteps:
            self._take()
            self._quiet_until = self._get_next_step() - self._window

    def _get_next_step(self) -> int:
        """Returns the step of the next checkpoint."""
        following: int = (self.num_timesteps // self._every + 1) * self._every
        return following

    def _on_training_end(self) -> None:
        interrupted = self._is_interrupted
        self._restore_handler()
        self._take(final=True)
        self.evaluator.finish()
        if interrupted:
            raise KeyboardInterrupt

    def _take(self, final: bool = False) -> None:
        self.evaluator.checkpoint(self.num_timesteps, self._take_snapshot, final=final)

    def _warn_if_not_writable(self) -> None:
        """Warns at the beginning, because the first checkpoint may be hours away."""
        try:
            path, _ = self._read_path()
            assert_writable(read_network(self.model.policy, path))
        except Exception as error:
            logger.warning("the policy of this training cannot be exported, and no checkpoint of it evaluated: %s", error)

    def _read_path(self) -> tuple[ObservationPath, Any]:
        """Reads how observations reach the policy. @returns that path, and the VecNormalize on it or None."""
        model = self.model
        normaliser = find_normaliser(model, self._vec_normalize)
        space = get_environment_space(self.training_env)
        path = ObservationPath(space, model.observation_space, read_statistics(normaliser), bool(model.policy.normalize_images))
        return path, normaliser

    def _take_snapshot(self) -> Snapshot:
        path, normaliser = self._read_path()
        observations = None if self._seen is None else self._seen.get_batch(path)
        if observations is None:
            raise ExportError("no observation has been seen on which the exported policy could be compared with the trainer's")
        return take_snapshot(self.model, path, observations, normaliser)

    def _await_interrupts(self) -> None:
        """Makes Ctrl-C end the training at its next step, as an ordinary end. Does nothing unless Python's own handler is installed."""
        in_main = threading.current_thread() is threading.main_thread()
        if in_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._former_handler = signal.signal(signal.SIGINT, self._on_interrupt)

    def _on_interrupt(self, number: int, frame: FrameType | None) -> None:
        if self._is_interrupted or not _is_within_learning(frame, self.model):
            self._restore_handler()
            signal.default_int_handler(number, frame)
        self._is_interrupted = True
        logger.warning("the training ends, and its last policy is evaluated; Ctrl-C again does not wait for it")

    def _restore_handler(self) -> None:
        if self._former_handler is not None:
            signal.signal(signal.SIGINT, self._former_handler)
            self._former_handler = None


def _is_within_learning(frame: FrameType | None, model: Any) -> bool:
    """Returns whether the training still runs. After an error has ended it, the interrupt would have no effect."""
    while frame is not None:
        if frame.f_code.co_name == "learn" and frame.f_locals.get("self") is model:
            return True
        frame = frame.f_back
    return False

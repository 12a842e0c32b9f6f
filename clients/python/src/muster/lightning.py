"""Lightning: a callback that evaluates beside training.

from muster.lightning import MusterCallback

trainer = Trainer(callbacks=[MusterCallback("cartpole.yaml", every=1_000, export=lambda module: torch_snapshot(module.policy, …))])
"""

import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lightning.pytorch import Callback

from muster.sinks.named_sinks import Log
from muster.training.evaluator import TrainingEvaluator
from muster.training.settings import Busy
from muster.training.standing import Score
from muster.training.work import Written
from muster_client import InvalidArgument, SuiteLike

logger = logging.getLogger("muster")


class MusterCallback(Callback):
    """Has the policy of a LightningModule evaluated every so many steps of the optimiser, while the training goes on.

    The policy at the end is always evaluated, and waited for, also after an interrupt that the Trainer catches.

    @param every: steps of the optimiser (`trainer.global_step`) between two checkpoints.
    @param export: takes the policy out of the module as it is: muster.exporting.torch_policy.torch_snapshot, for one.
    The other parameters are those of TrainingEvaluator.
    """

    def __init__(
        self,
        suite: SuiteLike,
        *,
        every: int,
        export: Callable[[Any], Written],
        log: Log = None,
        directory: str | os.PathLike[str] | None = None,
        run: str | None = None,
        server: str | None = None,
        token: str | None = None,
        busy: Busy = "skip",
        until: float | None = None,
        stop: Mapping[str, Any] | None = None,
    ) -> None:
        if every < 1:
            raise InvalidArgument(f"every: expected a number of steps, 1 or more, got {every!r}")
        self._every, self._export = every, export
        self._taken_at = 0
        self.evaluator = TrainingEvaluator(
            suite, directory=directory, run=run, server=server, token=token, log=log, busy=busy, until=until, stop=stop
        )

    @property
    def best(self) -> Score | None:
        """The first checkpoint's, until the interval of another lies above its own."""
        return self.evaluator.best

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002
        self._taken_at = trainer.global_step
        if trainer.log_dir is not None:
            self.evaluator.log_directory = Path(trainer.log_dir)
        self.evaluator.start()

    def on_train_batch_end(self, trainer: Any, pl_module: Any, *_: Any) -> None:
        step = trainer.global_step
        if step // self._every > self._taken_at // self._every:
            self._taken_at = step
            self.evaluator.checkpoint(step, lambda: self._export(pl_module))
        if self.evaluator.reached:
            logger.info("the training ends at step %d: the target is certified", step)
            trainer.should_stop = True

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self.evaluator.checkpoint(trainer.global_step, lambda: self._export(pl_module), final=True)
        self.evaluator.finish()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        if isinstance(exception, KeyboardInterrupt):
            self.on_train_end(trainer, pl_module)
        else:
            self.evaluator.close()

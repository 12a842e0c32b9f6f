"""Lightning: a callback that evaluates beside training.

from muster.lightning import MusterCallback

trainer = Trainer(callbacks=[MusterCallback("cartpole.yaml", every=1_000, export=lambda module: torch_snapshot(module.policy, …))])
"""

from collections.abc import Callable
from typing import Any, Unpack

from lightning.pytorch import Callback

from muster.training.evaluator import TrainingEvaluator
from muster.training.periodic import EvaluatorOptions, PeriodicEvaluator
from muster.training.standing import Score
from muster.training.work import Written
from muster_client import SuiteLike
from muster_client.arguments import suggests_keywords


class MusterCallback(Callback):
    """Evaluates the policy of a LightningModule every `every` steps of the optimiser, while the training goes on.

    The policy at the end is always evaluated, and waited for, also after an interrupt that the Trainer catches.

    @param every: steps of the optimiser (`trainer.global_step`) between two checkpoints.
    @param export: takes the policy out of the module as it is: muster.exporting.torch_policy.torch_snapshot, for one.
    The other parameters are those of TrainingEvaluator.
    """

    @suggests_keywords
    def __init__(self, suite: SuiteLike, *, every: int, export: Callable[[Any], Written], **options: Unpack[EvaluatorOptions]) -> None:
        self._periodic = PeriodicEvaluator(suite, every, **options)
        self._export = export

    @property
    def best(self) -> Score | None:
        """The score of the best checkpoint. Another one replaces it when its interval lies above this one's."""
        return self._periodic.best

    @property
    def evaluator(self) -> TrainingEvaluator:
        return self._periodic.evaluator

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002
        self._periodic.begin(trainer.global_step, trainer.log_dir)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, *_: Any) -> None:
        if not self._periodic.step(trainer.global_step, lambda: self._export(pl_module)):
            trainer.should_stop = True

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self._periodic.finish(trainer.global_step, lambda: self._export(pl_module))

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        if isinstance(exception, KeyboardInterrupt):
            self.on_train_end(trainer, pl_module)
        else:
            self._periodic.close()

"""Transformers: a callback that evaluates beside training.

from muster.transformers import MusterCallback

trainer = Trainer(model, callbacks=[MusterCallback("cartpole.yaml", every=500, export=lambda model: torch_snapshot(model.policy, …))])
"""

from collections.abc import Callable
from typing import Any, Unpack

from transformers import TrainerCallback

from muster.training.evaluator import TrainingEvaluator
from muster.training.periodic import EvaluatorOptions, PeriodicEvaluator
from muster.training.standing import Score
from muster.training.work import Written
from muster_client import SuiteLike
from muster_client.arguments import suggests_keywords


class MusterCallback(TrainerCallback):
    """Has a policy that the Trainer trains evaluated every so many steps of the optimiser, while the training goes on.

    The policy at the end of `train` is always evaluated, and waited for. An interrupt leaves `train` without its end: call `close` then.

    @param every: steps of the optimiser (`state.global_step`) between two checkpoints.
    @param export: takes the policy out of the model as it is: muster.exporting.torch_policy.torch_snapshot, for one.
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

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
        if state.is_world_process_zero:
            self._periodic.begin(state.global_step)

    def on_step_end(self, args: Any, state: Any, control: Any, *, model: Any, **_: Any) -> None:  # noqa: ARG002
        if state.is_world_process_zero and not self._periodic.step(state.global_step, lambda: self._export(model)):
            control.should_training_stop = True

    def on_train_end(self, args: Any, state: Any, control: Any, *, model: Any, **_: Any) -> None:  # noqa: ARG002
        if state.is_world_process_zero:
            self._periodic.finish(state.global_step, lambda: self._export(model))

    def close(self) -> None:
        """Ends the thread and the server after a training that has failed. Accepted checkpoints stay in the directory."""
        self._periodic.close()

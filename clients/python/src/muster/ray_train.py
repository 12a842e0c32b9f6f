"""Ray Train: evaluates beside the loop that each worker runs.

from muster.ray_train import MusterCallback

def train_loop(config):
    with MusterCallback("cartpole.yaml", every=1_000) as evaluate:
        for step in range(1, 10_001):
            ...
            if not evaluate(step, lambda: torch_snapshot(policy, …)):
                break
"""

from types import TracebackType
from typing import Self, Unpack

import ray.train

from muster.training.evaluator import TrainingEvaluator
from muster.training.periodic import EvaluatorOptions, Export, PeriodicEvaluator
from muster.training.standing import Score
from muster_client import SuiteLike
from muster_client.arguments import suggests_keywords


class MusterCallback:
    """Evaluates a policy every `every` steps, in the worker of rank 0. Calls of the other workers do nothing.

    The policy of the last call is always evaluated, and waited for where `with` ends, also by an interrupt. Ray gives each run a directory
    of its own in its storage. To let a later run continue accepted evaluations, set `directory` to a disk that outlives the worker.

    @param every: steps between two checkpoints.
    The other parameters are those of TrainingEvaluator.
    """

    @suggests_keywords
    def __init__(self, suite: SuiteLike, *, every: int, **options: Unpack[EvaluatorOptions]) -> None:
        self._periodic = PeriodicEvaluator(suite, every, **options)
        self._last: tuple[int, Export] | None = None
        self._is_first = True

    @property
    def best(self) -> Score | None:
        """The score of the best checkpoint. Another one replaces it when its interval lies above this one's."""
        return self._periodic.best

    @property
    def evaluator(self) -> TrainingEvaluator:
        return self._periodic.evaluator

    def __enter__(self) -> Self:
        self._is_first = ray.train.get_context().get_world_rank() == 0
        if self._is_first:
            self._periodic.begin(0)
        return self

    def __call__(self, step: int, export: Export) -> bool:
        """Call it after each step. @param export: takes the policy as it is. Returns whether rank 0 continues the training."""
        if not self._is_first:
            return True
        self._last = (step, export)
        return self._periodic.step(step, export)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._last is not None and (kind is None or issubclass(kind, KeyboardInterrupt)):
            self._periodic.finish(*self._last)
        else:
            self._periodic.close()

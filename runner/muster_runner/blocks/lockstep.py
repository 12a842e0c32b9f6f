"""Plays blocks in lockstep: each row has an environment, and each step is one forward pass for all rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from muster_runner.blocks.block_player import BlockPlayer, PlayedBlock
from muster_runner.blocks.environment_pool import EnvironmentPool
from muster_runner.blocks.lockstep_run import LockstepRun
from muster_runner.environments import EnvironmentMaker, Record
from muster_runner.fitted_policies import FittedPolicies
from muster_runner.frames import Batching, Episode, Load
from muster_runner.games import ONE_GAME, AgentSpaces
from muster_runner.policies.checkpoint import Checkpoint, Fit
from muster_runner.policies.rows_policy import RowsPolicy
from muster_runner.prints import EpisodePrints
from muster_runner.refusal import EnvironmentRefusal

# The number of unused environments that are kept: as many as rows, but at least this number.
LEAST_KEPT = 64


@dataclass(frozen=True)
class Lockstep:
    batching: Batching
    metrics: tuple[str, ...]
    pool: EnvironmentPool
    # The policy of each task.
    policies: Sequence[RowsPolicy]
    warnings: tuple[str, ...]

    @property
    def task_count(self) -> int:
        return len(self.policies)

    def play(self, episodes: Sequence[Episode], prints: EpisodePrints, /) -> PlayedBlock:
        return LockstepRun(self.batching, self.metrics, self.pool, self.policies, episodes, prints).play()

    def close(self) -> None:
        self.pool.close()


def fit_lockstep(request: Load, batching: Batching, checkpoint: Checkpoint, record: Record | None) -> BlockPlayer:
    """Makes a player of blocks in lockstep. @raises Refusal"""
    code = None if request.code is None else Path(request.code)
    makers = [EnvironmentMaker(task, code, record) for task in request.tasks]
    pool = EnvironmentPool(makers, max(batching.width, LEAST_KEPT))
    fitted = FittedPolicies[RowsPolicy](lambda fit: checkpoint.fit_rows(fit, batching.width))
    policies = []
    try:
        for position, maker in enumerate(makers):
            environment = maker.make_first()
            if isinstance(environment.observation_space, AgentSpaces):
                raise EnvironmentRefusal(f'task "{maker.task.name}": {ONE_GAME}')
            fit = Fit(environment.observation_space, environment.action_space, request.actions == "deterministic")
            pool.give(position, environment)
            policies.append(fitted.policy_for(fit, maker.task.name))
    except BaseException:
        pool.close()
        raise
    warnings = dict.fromkeys(warning for policy in fitted.policies for warning in policy.warnings)
    return Lockstep(batching, request.metrics, pool, policies, tuple(warnings))

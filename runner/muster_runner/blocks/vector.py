"""Plays blocks in environments' own vector form: one vector environment for each task of the block."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from muster_runner.blocks.block_player import BlockPlayer, PlayedBlock
from muster_runner.blocks.vector_environments import VectorMaker
from muster_runner.blocks.vector_pool import VectorPool
from muster_runner.blocks.vector_run import VectorRun
from muster_runner.environments import close_environment
from muster_runner.episode import Failed, Outcome, fail_episode
from muster_runner.fitted_policies import FittedPolicies
from muster_runner.frames import Batching, Episode, Load
from muster_runner.policies.checkpoint import Checkpoint, Fit
from muster_runner.policies.rows_policy import RowsPolicy
from muster_runner.prints import EpisodePrints


@dataclass(frozen=True)
class Vectors:
    batching: Batching
    metrics: tuple[str, ...]
    pool: VectorPool
    # The policy of each task.
    policies: Sequence[RowsPolicy]
    warnings: tuple[str, ...]

    @property
    def task_count(self) -> int:
        return len(self.policies)

    def play(self, episodes: Sequence[Episode], prints: EpisodePrints, /) -> PlayedBlock:
        """Plays the tasks one after the other, in the order in which the block's episodes first name them."""
        outcomes: list[Outcome] = [Failed("environment-crash", "not played")] * len(episodes)
        logs = [""] * len(episodes)
        forward = 0.0
        prints.take()
        for task in dict.fromkeys(episode.task for episode in episodes):
            places = [place for place, episode in enumerate(episodes) if episode.task == task]
            played, seconds = self._play_group(task, [episodes[place] for place in places])
            forward += seconds
            for place, outcome in zip(places, played, strict=True):
                outcomes[place] = outcome
            # Output belongs to all episodes of the task. It is kept with the first.
            logs[places[0]] = prints.take()
        return PlayedBlock(outcomes, logs, forward)

    def _play_group(self, task: int, episodes: Sequence[Episode]) -> tuple[Sequence[Outcome], float]:
        """Plays the episodes of one task. Returns their outcomes, and the seconds that were spent in the policy."""
        width = len(episodes)
        try:
            environment = self.pool.take(task, width)
        except BaseException as error:
            return [fail_episode(error, "environment-crash")] * width, 0.0
        run = VectorRun(environment, self.policies[task], episodes, self.metrics, self.batching.episode_seconds)
        outcomes = run.play()
        if run.is_intact:
            self.pool.give(task, width, environment)
        else:
            # The environment may be in any state, which must not affect the next block.
            close_environment(environment)
        return outcomes, run.forward_seconds

    def close(self) -> None:
        self.pool.close()


def fit_vectors(request: Load, batching: Batching, checkpoint: Checkpoint) -> BlockPlayer:
    """Makes a player of blocks in vector form. @raises Refusal"""
    code = None if request.code is None else Path(request.code)
    makers = [VectorMaker(task, code) for task in request.tasks]
    pool = VectorPool(makers)
    fitted = FittedPolicies[RowsPolicy](lambda fit: checkpoint.fit_rows(fit, batching.width))
    policies = []
    try:
        for position, maker in enumerate(makers):
            environment = maker.make_first(batching.width)
            fit = Fit(environment.single_observation_space, environment.single_action_space, request.actions == "deterministic")
            pool.give(position, batching.width, environment)
            policies.append(fitted.policy_for(fit, maker.task.name))
    except BaseException:
        pool.close()
        raise
    warnings = dict.fromkeys(warning for policy in fitted.policies for warning in policy.warnings)
    return Vectors(batching, request.metrics, pool, policies, tuple(warnings))

"""Turns a load request into policies and environments that are ready to play."""

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from muster_runner.blocks.block_player import BlockPlayer
from muster_runner.carried_code import Visit, forget, visit
from muster_runner.digest import verify_digest
from muster_runner.environments import Environment, EnvironmentMaker, Record, close_environment
from muster_runner.failure import describe_load
from muster_runner.fitted_policies import FittedPolicies
from muster_runner.frames import Batching, Load
from muster_runner.games import AgentSpaces
from muster_runner.policies.checkpoint import Checkpoint, Fit
from muster_runner.policies.policy import Policy
from muster_runner.policies.read_checkpoint import read_checkpoint
from muster_runner.preloaded import find_preloaded
from muster_runner.refusal import PolicyRefusal, Refusal

if TYPE_CHECKING:
    from muster_runner.apart.policy_link import PolicyLink

# The number of tasks whose environment is kept between episodes. Environments of further tasks are made for each episode.
KEPT_ENVIRONMENTS = 64


@dataclass
class LoadedTask:
    """One task with its policy."""

    maker: EnvironmentMaker
    policy: Policy
    keep: bool
    _environment: Environment | None

    def environment(self) -> Environment:
        """Returns the task's environment. @raises whatever the environment's code raises when it is made."""
        if self._environment is None:
            self._environment = self.maker.make()
        return self._environment

    def played(self) -> None:
        if not self.keep:
            self.discard()

    def discard(self) -> None:
        """Closes the environment. The next episode gets a new one."""
        environment, self._environment = self._environment, None
        if environment is not None:
            close_environment(environment)


@dataclass
class Loaded:
    """The present load: tasks that are played one by one, or in blocks."""

    digest: str
    metrics: tuple[str, ...]
    tasks: list[LoadedTask] = field(default_factory=list)
    blocks: BlockPlayer | None = None
    block_episodes: int = 1
    visits: list[Visit] = field(default_factory=list)

    @property
    def task_count(self) -> int:
        return len(self.tasks) if self.blocks is None else self.blocks.task_count

    @property
    def warnings(self) -> tuple[str, ...]:
        return () if self.blocks is None else self.blocks.warnings

    def unload(self) -> None:
        for task in self.tasks:
            task.discard()
        if self.blocks is not None:
            self.blocks.close()
        for visited in reversed(self.visits):
            forget(visited)


def load(request: Load, policy: "PolicyLink | None" = None, record: Record | None = None) -> Loaded:
    """Loads a checkpoint and every task's environment, so that a policy that does not fit one of them is refused before any episode.

    @param policy: leads to the program that loads the checkpoint. This process then reads and runs nothing of it. @param record: wraps
    environments that are stepped one by one. Vector environments are not recorded. @raises Refusal
    """
    # Modules of a suite or a checkpoint must not leave bytecode beside their source: it would change the directory's digest.
    sys.dont_write_bytecode = True
    path = Path(request.path)
    loaded = Loaded(digest="", metrics=request.metrics)
    try:
        checkpoint = _read(request, path, loaded) if policy is None else _read_apart(request, policy, loaded)
        if request.batching is None:
            _fit_tasks(request, checkpoint, loaded, record)
        else:
            loaded.block_episodes = request.batching.episodes
            loaded.blocks = _fit_blocks(request, request.batching, checkpoint, record)
    except Refusal:
        loaded.unload()
        raise
    except BaseException as error:
        # The message is made before the directories are left, so that its paths are relative to them.
        message = f"{path.name} cannot be loaded: {describe_load(error)}"
        loaded.unload()
        raise PolicyRefusal(message) from error
    return loaded


def _read(request: Load, path: Path, loaded: Loaded) -> Checkpoint:
    preloaded = find_preloaded(request.digest)
    loaded.digest = request.digest if preloaded or request.verified else verify_digest(path, request.digest)
    if path.is_dir():
        loaded.visits.append(visit(path))
    _visit_suite(request, loaded)
    return preloaded or read_checkpoint(path)


def _read_apart(request: Load, policy: "PolicyLink", loaded: Loaded) -> Checkpoint:
    """Has the policy's program load the checkpoint, which it verifies before it runs any of its code."""
    from muster_runner.apart.distant_policy import DistantCheckpoint

    checkpoint = DistantCheckpoint(policy, request)
    loaded.digest = request.digest
    _visit_suite(request, loaded)
    return checkpoint


def _visit_suite(request: Load, loaded: Loaded) -> None:
    if request.code is not None:
        loaded.visits.append(visit(Path(request.code)))


def _fit_tasks(request: Load, checkpoint: Checkpoint, loaded: Loaded, record: Record | None) -> None:
    policies = FittedPolicies[Policy](lambda fit: fit_policy(checkpoint, fit))
    code = None if request.code is None else Path(request.code)
    for position, task in enumerate(request.tasks):
        maker = EnvironmentMaker(task, code, record)
        environment = maker.make_first()
        fit = Fit(environment.observation_space, environment.action_space, request.actions == "deterministic")
        try:
            policy = policies.policy_for(fit, task.name)
        except PolicyRefusal:
            close_environment(environment)
            raise
        loaded.tasks.append(LoadedTask(maker, policy, position < KEPT_ENVIRONMENTS, environment))
        loaded.tasks[-1].played()


def fit_policy(checkpoint: Checkpoint, fit: Fit) -> Policy:
    """Fits a checkpoint to the spaces of an environment or a game. @raises Refusal"""
    if not isinstance(fit.observation_space, AgentSpaces):
        return checkpoint.fit(fit)
    # This import is only for games, because it would cost memory in every sandbox.
    from muster_runner.policies.agent_policies import fit_agents

    return fit_agents(checkpoint, fit)


def _fit_blocks(request: Load, batching: Batching, checkpoint: Checkpoint, record: Record | None) -> BlockPlayer:
    # These imports are only for blocks, because they would cost memory in every sandbox.
    if batching.form == "lockstep":
        from muster_runner.blocks.lockstep import fit_lockstep

        return fit_lockstep(request, batching, checkpoint, record)
    from muster_runner.blocks.vector import fit_vectors

    return fit_vectors(request, batching, checkpoint)

"""Turns a load request into policies and environments that are ready to play."""

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from muster_runner.carried_code import forget, visit
from muster_runner.digest import verified
from muster_runner.environments import Environment, EnvironmentMaker
from muster_runner.failure import describe
from muster_runner.frames import Load
from muster_runner.policies.checkpoint import Checkpoint, Fit
from muster_runner.policies.policy import Policy
from muster_runner.policies.read_checkpoint import read_checkpoint
from muster_runner.preloaded import find_preloaded
from muster_runner.refusal import PolicyRefusal, Refusal

# Tasks whose environment is kept between episodes; those of further tasks are made for each episode.
KEPT_ENVIRONMENTS = 64


@dataclass
class LoadedTask:
    """One task with the policy that fits it."""

    maker: EnvironmentMaker
    policy: Policy
    keep: bool
    _environment: Environment | None

    def environment(self) -> Environment:
        """@raises whatever the environment's code raises when it has to be made anew."""
        if self._environment is None:
            self._environment = self.maker.make()
        return self._environment

    def played(self) -> None:
        if not self.keep:
            self.discard()

    def discard(self) -> None:
        """Throws the environment away; the next episode gets a new one."""
        environment, self._environment = self._environment, None
        if environment is None:
            return
        try:
            environment.close()
        except BaseException as error:
            # It is gone either way, and the outcome of its last episode is known.
            print(f"closing the environment failed: {describe(error)}", file=sys.stderr)


@dataclass
class Loaded:
    """What is being played, until the next load."""

    digest: str
    tasks: list[LoadedTask]
    metrics: tuple[str, ...]
    directories: list[Path] = field(default_factory=list)

    def unload(self) -> None:
        for task in self.tasks:
            task.discard()
        forget(self.directories)


def load(request: Load) -> Loaded:
    """Makes every task's environment once, so that a policy that does not fit one of them is refused before any episode.

    @raises Refusal
    """
    # Modules of a suite or a checkpoint must not leave bytecode beside them: it would change the directory's digest.
    sys.dont_write_bytecode = True
    path = Path(request.path)
    loaded = Loaded(digest="", tasks=[], metrics=request.metrics)
    try:
        preloaded = find_preloaded(request.digest)
        loaded.digest = request.digest if preloaded else verified(path, request.digest)
        _visit_code(request, path, loaded)
        _fit_tasks(request, preloaded or read_checkpoint(path), loaded)
    except Refusal:
        loaded.unload()
        raise
    except BaseException as error:
        loaded.unload()
        raise PolicyRefusal(f"{path.name} cannot be loaded: {describe(error)}") from error
    return loaded


def _visit_code(request: Load, checkpoint: Path, loaded: Loaded) -> None:
    directories = [checkpoint] if checkpoint.is_dir() else []
    if request.code is not None:
        directories.append(Path(request.code))
    for directory in directories:
        visit(directory)
        loaded.directories.append(directory)


def _fit_tasks(request: Load, checkpoint: Checkpoint, loaded: Loaded) -> None:
    fitted: list[tuple[Fit, Policy]] = []
    code = None if request.code is None else Path(request.code)
    for position, task in enumerate(request.tasks):
        maker = EnvironmentMaker(task, code)
        environment = maker.make_first()
        fit = Fit(environment.observation_space, environment.action_space, request.actions == "deterministic")
        try:
            policy = _fitted(checkpoint, fit, fitted)
        except PolicyRefusal as refusal:
            environment.close()
            raise PolicyRefusal(f'{refusal} (task "{task.name}")') from refusal
        loaded.tasks.append(LoadedTask(maker, policy, position < KEPT_ENVIRONMENTS, environment))
        loaded.tasks[-1].played()


def _fitted(checkpoint: Checkpoint, fit: Fit, fitted: list[tuple[Fit, Policy]]) -> Policy:
    """Tasks with the same spaces share one policy."""
    for known, policy in fitted:
        if _same(known.observation_space, fit.observation_space) and _same(known.action_space, fit.action_space):
            return policy
    policy = checkpoint(fit)
    fitted.append((fit, policy))
    return policy


def _same(one: spaces.Space[Any], other: spaces.Space[Any]) -> bool:
    # Gymnasium takes bounds for equal that are merely close, and actions are scaled to them.
    if isinstance(one, spaces.Box) and isinstance(other, spaces.Box):
        return one == other and np.array_equal(one.low, other.low) and np.array_equal(one.high, other.high)
    return type(one) is type(other) and bool(one == other)

"""Makes vector environments from what the suite declares."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium

from muster_runner.blocks.autoreset import detect_autoreset
from muster_runner.carried_code import CodeError, find
from muster_runner.environments import CONSTRUCTION_SEED, VECTOR_PACKAGES, VectorEnvironment, close_environment
from muster_runner.failure import describe_extra, describe_load
from muster_runner.frames import Task
from muster_runner.games import ONE_GAME
from muster_runner.random_state import seed_global_generators
from muster_runner.refusal import EnvironmentRefusal

PARTS = ("reset", "step", "close", "num_envs", "metadata", "single_observation_space", "single_action_space")


@dataclass(frozen=True)
class VectorMaker:
    """Makes one task's vector environment of any width, in the same way each time."""

    task: Task
    code: Path | None

    def make(self, width: int) -> VectorEnvironment:
        """Makes a vector environment. @raises EnvironmentRefusal if it is none of that width; whatever its code raises."""
        seed_global_generators(CONSTRUCTION_SEED)
        environment = self._make_innermost(width)
        for wrapper in self.task.wrappers:
            environment = find(wrapper.entry, self.code)(environment, **wrapper.kwargs)
        try:
            self._check(environment, width)
        except EnvironmentRefusal:
            if hasattr(environment, "close"):
                close_environment(environment)
            raise
        return environment

    def make_first(self, width: int) -> VectorEnvironment:
        """Makes the first one. @raises EnvironmentRefusal, also for what the environment's code raises."""
        try:
            return self.make(width)
        except (CodeError, gymnasium.error.Error) as error:
            raise EnvironmentRefusal(f'task "{self.task.name}": {error}{describe_extra(error)}') from error
        except EnvironmentRefusal:
            raise
        except BaseException as error:
            hint = "; wrappers are called with the vector environment (gymnasium.wrappers.vector:…)" if self.task.wrappers else ""
            raise EnvironmentRefusal(f'task "{self.task.name}" cannot be made in its vector form: {describe_load(error)}{hint}') from error

    def _make_innermost(self, width: int) -> VectorEnvironment:
        entry, kwargs = self.task.environment.entry, self.task.environment.kwargs
        package, _, name = entry.partition(":")
        if package == "gymnasium":
            if gymnasium.spec(name).vector_entry_point is None:
                raise self._refuse_vector_form(f"{name} has no vector form of its own (vector_entry_point)")
            return gymnasium.make_vec(name, num_envs=width, vectorization_mode="vector_entry_point", **kwargs)
        if package in VECTOR_PACKAGES:
            return _find_maker(package)(name, width, kwargs)
        if package == "pettingzoo":
            raise self._create_refusal(ONE_GAME)
        factory = find(entry, self.code)
        if not _takes_width(factory):
            raise self._refuse_vector_form(f"{entry} takes no num_envs, so it makes no vector environment")
        environment: VectorEnvironment = factory(num_envs=width, **kwargs)
        return environment

    def _check(self, environment: Any, width: int) -> None:
        missing = [part for part in PARTS if not hasattr(environment, part)]
        made = type(environment).__name__
        if missing:
            raise self._refuse_vector_form(f"it makes a {made} without {missing[0]}, expected a gymnasium.vector.VectorEnv")
        if environment.num_envs != width:
            raise self._create_refusal(f"it makes a vector environment of {environment.num_envs} rows, expected num_envs={width}")
        try:
            detect_autoreset(environment)
        except ValueError as error:
            raise self._create_refusal(
                f'{made}.metadata["autoreset_mode"] is {environment.metadata.get("autoreset_mode")!r}, expected a member of '
                "gymnasium.vector.AutoresetMode: without it the steps of an episode cannot be told apart"
            ) from error

    def _refuse_vector_form(self, reason: str) -> EnvironmentRefusal:
        return self._create_refusal(f"{reason}. Play it with mode: lockstep, which takes any environment")

    def _create_refusal(self, reason: str) -> EnvironmentRefusal:
        return EnvironmentRefusal(f'task "{self.task.name}": {reason}')


def _find_maker(package: str) -> Callable[[str, int, dict[str, Any]], VectorEnvironment]:
    # A library is imported only for suites that name it.
    match package:
        case "envpool":
            from muster_runner.blocks.envpool_rows import make_envpool

            return make_envpool
        case "gymnax":
            from muster_runner.blocks.gymnax_rows import make_gymnax

            return make_gymnax
        case _:
            from muster_runner.blocks.brax_rows import make_brax

            return make_brax


def _takes_width(factory: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):
        # A function in C cannot be inspected. It raises TypeError itself if it takes no width.
        return True
    return any(parameter.name == "num_envs" or parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)

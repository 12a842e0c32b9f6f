"""Makes the environments that a suite declares."""

import sys
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec, load_env_creator
from gymnasium.vector import VectorEnv

from muster_runner.carried_code import CodeError, find
from muster_runner.failure import describe, describe_extra, describe_load
from muster_runner.frames import EntryPoint, Task
from muster_runner.games import Game, make_pettingzoo
from muster_runner.random_state import seed_global_generators
from muster_runner.refusal import EnvironmentRefusal

Environment = gymnasium.Env[Any, Any]
VectorEnvironment = VectorEnv[Any, Any, Any]
Record = Callable[[Environment], Any]

# Libraries whose environments step many rows at a time, and cannot step a single row.
VECTOR_PACKAGES = ("envpool", "gymnax", "brax")

# Any constant serves: an environment then draws the same numbers in every sandbox while it is made.
CONSTRUCTION_SEED = 0


@dataclass(frozen=True)
class EnvironmentMaker:
    """Makes one task's environment, in the same way each time."""

    task: Task
    code: Path | None
    # Wraps the environment to record an episode. The environment is then made with pictures.
    record: Record | None = None

    def make(self) -> Environment:
        """Makes an environment. @raises whatever the environment's or a wrapper's code raises."""
        seed_global_generators(CONSTRUCTION_SEED)
        environment = _make_innermost(self.task.environment, self.code, renders=self.record is not None)
        for wrapper in self.task.wrappers:
            environment = find(wrapper.entry, self.code)(environment, **wrapper.kwargs)
        recorded: Environment = environment if self.record is None else self.record(environment)
        return recorded

    def make_first(self) -> Environment:
        """Makes the first environment. @raises EnvironmentRefusal when that fails, or the result is no environment."""
        try:
            environment = self.make()
        except (CodeError, gymnasium.error.Error) as error:
            raise EnvironmentRefusal(f'task "{self.task.name}": {error}{describe_extra(error)}') from error
        except BaseException as error:
            raise EnvironmentRefusal(f'task "{self.task.name}" cannot be made: {describe_load(error)}') from error
        for name in ("reset", "step", "observation_space", "action_space"):
            if not hasattr(environment, name):
                made = type(environment).__name__
                raise EnvironmentRefusal(f'task "{self.task.name}" makes an object of type {made} without {name}, expected a gymnasium.Env')
        return environment


def close_environment(environment: Environment | VectorEnvironment) -> None:
    """Closes an environment. Prints exceptions to the error output, because the outcome of the last episode is known by then."""
    try:
        environment.close()
    except BaseException as error:
        print(f"closing the environment failed: {describe(error)}", file=sys.stderr)


def _make_innermost(point: EntryPoint, code: Path | None, *, renders: bool) -> Environment:
    """@param renders: whether to pass `render_mode="rgb_array"`, if the environment accepts it and the suite does not set another."""
    package, _, name = point.entry.partition(":")
    if package == "gymnasium":
        return _make_registered(name, point.kwargs, renders=renders)
    if package in VECTOR_PACKAGES:
        raise CodeError(f"{point.entry} steps many rows at a time: play it with mode: vector")
    if package == "pettingzoo":
        return make_pettingzoo(name, point.kwargs)
    make = find(point.entry, code)
    kwargs = add_render_mode(point.kwargs) if renders and _takes_render_mode(make) else point.kwargs
    environment: Environment = make(**kwargs)
    if hasattr(environment, "possible_agents"):
        return Game(environment)
    return environment


def add_render_mode(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {"render_mode": "rgb_array", **kwargs}


def _takes_render_mode(make: Callable[..., Any]) -> bool:
    try:
        return "render_mode" in signature(make).parameters
    except (TypeError, ValueError):
        return False


def _make_registered(identifier: str, kwargs: dict[str, Any], *, renders: bool) -> Environment:
    """Makes an environment as `gymnasium.make` does, with the registered time limit, but without checks that cost time at each step.

    The passive checker only warns, and the runner always resets before it steps, so these checks cannot change an outcome.
    """
    spec = copy(gymnasium.spec(identifier))
    spec.order_enforce = False
    if renders and "rgb_array" in _render_modes(spec):
        kwargs = add_render_mode(kwargs)
    return gymnasium.make(spec, disable_env_checker=True, **kwargs)


def _render_modes(spec: EnvSpec) -> Sequence[str]:
    creator = spec.entry_point if callable(spec.entry_point) else load_env_creator(str(spec.entry_point))
    modes: Sequence[str] = getattr(creator, "metadata", {}).get("render_modes", ())
    return modes

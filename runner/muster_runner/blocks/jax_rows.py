"""Environments in JAX as vector environments: all rows in one compiled step."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import batch_space

from muster_runner.blocks.autoreset import Autoreset, declare
from muster_runner.failure import describe_installation
from muster_runner.refusal import EnvironmentRefusal

# JAX makes a thread for each processor that it may use. A sandbox has a share of one, and more threads would only wait for each other.
ONE_THREAD = {"NPROC": "1", "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}


@dataclass(frozen=True)
class JaxEnvironment:
    """A library's environment as functions of all rows, which are compiled. Rows that end have to be reset in the same step."""

    observation_space: spaces.Space[Any]
    action_space: spaces.Space[Any]
    """From a key for each row: the state, and the observations."""
    reset: Callable[[Any], tuple[Any, Any]]
    """From state and actions: the state, then the results of `VectorEnv.step`."""
    step: Callable[[Any, Any], tuple[Any, Any, Any, Any, Any, dict[str, Any]]]


def import_jax_library(name: str, entry: str) -> Any:
    """@raises EnvironmentRefusal when it, or what it needs, is not installed."""
    for variable, value in ONE_THREAD.items():
        os.environ.setdefault(variable, value)
    try:
        return import_module(name)
    except ImportError as error:
        missing = error.name.partition(".")[0] if error.name else name
        packages = dict.fromkeys((name, missing))
        raise EnvironmentRefusal(f"{entry} needs {name}, which cannot be imported ({error}): {describe_installation(*packages)}") from error


class JaxRows(VectorEnv[Any, Any, Any]):
    """Row r draws from the r-th of the keys that `jax.random.split` makes of the block's seed."""

    def __init__(self, environment: JaxEnvironment, width: int) -> None:
        import jax

        self._split = jax.random.split
        self._key = jax.random.PRNGKey
        self._reset = jax.jit(lambda keys: _fix_types(environment.reset(keys)))
        self._step = jax.jit(lambda state, actions: _fix_types(environment.step(state, actions)))
        self.num_envs = width
        self.metadata: dict[str, Any] = {"autoreset_mode": declare(Autoreset.SAME_STEP)}
        self.single_observation_space = environment.observation_space
        self.single_action_space = environment.action_space
        self.observation_space = batch_space(environment.observation_space, width)
        self.action_space = batch_space(environment.action_space, width)
        self._warm_up()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:  # noqa: ARG002
        # The runner always gives one.
        self._state, observations = self._reset(self._split(self._key(seed or 0), self.num_envs))
        return _as_arrays(observations), {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        self._state, observations, rewards, terminated, truncated, info = self._step(self._state, actions)
        return _as_arrays(observations), np.asarray(rewards), np.asarray(terminated), np.asarray(truncated), info

    def _warm_up(self) -> None:
        """Compiling takes seconds or minutes, which are no episode's."""
        self.reset(seed=0)
        self.step(self.action_space.sample())


def _fix_types(values: Any) -> Any:
    """Where a reset writes a bare number and a step computes it, JAX would compile the step twice."""
    import jax

    def typed(leaf: Any) -> Any:
        return leaf if getattr(leaf, "weak_type", True) is False else jax.lax.convert_element_type(leaf, jax.numpy.result_type(leaf))

    return jax.tree.map(typed, values)


def _as_arrays(observations: Any) -> Any:
    """On the CPU they are not copied."""
    if isinstance(observations, dict):
        return {name: _as_arrays(part) for name, part in observations.items()}
    return tuple(map(_as_arrays, observations)) if isinstance(observations, tuple) else np.asarray(observations)

"""Wraps environments in JAX as vector environments. One compiled step steps all rows."""

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

# JAX starts a thread for each processor that it may use. A sandbox has a share of one, so more threads would only wait for each other.
ONE_THREAD = {"NPROC": "1", "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}


@dataclass(frozen=True)
class JaxEnvironment:
    """A library's environment as compiled functions of all rows. A row that ends must be reset in the same step."""

    observation_space: spaces.Space[Any]
    action_space: spaces.Space[Any]
    # A key for each row → the state, and the observations.
    reset: Callable[[Any], tuple[Any, Any]]
    # State and actions → the next state, then the results of `VectorEnv.step`.
    step: Callable[[Any, Any], tuple[Any, Any, Any, Any, Any, dict[str, Any]]]


def import_jax_library(name: str, entry: str) -> Any:
    """Imports a library. @raises EnvironmentRefusal when it, or a library that it needs, is not installed."""
    for variable, value in ONE_THREAD.items():
        os.environ.setdefault(variable, value)
    try:
        return import_module(name)
    except ImportError as error:
        missing = error.name.partition(".")[0] if error.name else name
        packages = dict.fromkeys((name, missing))
        raise EnvironmentRefusal(f"{entry} needs {name}, which cannot be imported ({error}): {describe_installation(*packages)}") from error


class JaxRows(VectorEnv[Any, Any, Any]):
    """A vector environment of JAX. Row r draws from the r-th key that `jax.random.split` makes of the block's seed."""

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
        # The runner always passes a seed.
        self._state, observations = self._reset(self._split(self._key(seed or 0), self.num_envs))
        return _as_arrays(observations), {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        self._state, observations, rewards, terminated, truncated, info = self._step(self._state, actions)
        return _as_arrays(observations), np.asarray(rewards), np.asarray(terminated), np.asarray(truncated), info

    def _warm_up(self) -> None:
        """Compiles reset and step, which takes seconds or minutes, so that no episode is charged for it."""
        self.reset(seed=0)
        self.step(self.action_space.sample())


def _fix_types(values: Any) -> Any:
    """Gives numbers a fixed type. Otherwise JAX compiles the step twice, if reset writes a Python number that the step computes."""
    import jax

    def typed(leaf: Any) -> Any:
        return leaf if getattr(leaf, "weak_type", True) is False else jax.lax.convert_element_type(leaf, jax.numpy.result_type(leaf))

    return jax.tree.map(typed, values)


def _as_arrays(observations: Any) -> Any:
    """Converts observations to NumPy arrays, on the CPU without a copy."""
    if isinstance(observations, dict):
        return {name: _as_arrays(part) for name, part in observations.items()}
    return tuple(map(_as_arrays, observations)) if isinstance(observations, tuple) else np.asarray(observations)

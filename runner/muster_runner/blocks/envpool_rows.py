"""Makes vector environments of EnvPool, which steps them in C++."""

from collections.abc import Callable
from typing import Any

from gymnasium.vector import VectorEnv

from muster_runner.environments import VectorEnvironment
from muster_runner.failure import describe_installation
from muster_runner.refusal import EnvironmentRefusal

# A sandbox has a share of one processor, so more threads would only wait for each other.
THREADS = 1


def make_envpool(identifier: str, width: int, kwargs: dict[str, Any]) -> VectorEnvironment:
    """Makes a vector environment. @raises EnvironmentRefusal when EnvPool is not installed, or has no such environment."""
    try:
        import envpool
    except ImportError as error:
        raise EnvironmentRefusal(
            f"envpool:{identifier} needs EnvPool, which is missing ({error}): {describe_installation('envpool')}"
        ) from error
    if identifier not in envpool.list_all_envs():
        raise EnvironmentRefusal(f"EnvPool has no environment {identifier!r}; envpool.list_all_envs() names those that it has")
    return EnvpoolRows(envpool, identifier, width, kwargs)


class EnvpoolRows(VectorEnv[Any, Any, Any]):
    """An environment of EnvPool. EnvPool takes a seed only when it makes an environment, so each new seed makes a new one, in milliseconds.

    Row r gets seed + r, as EnvPool does by itself.
    """

    def __init__(self, library: Any, identifier: str, width: int, kwargs: dict[str, Any]) -> None:
        options = {"num_threads": THREADS, **kwargs, "num_envs": width, "batch_size": width}
        self._make: Callable[[int], Any] = lambda seed: library.make_gymnasium(identifier, **options, seed=seed)
        self._pool = self._make(0)
        self.num_envs = width
        self.metadata: dict[str, Any] = dict(self._pool.metadata)
        self.single_observation_space = self._pool.single_observation_space
        self.single_action_space = self._pool.single_action_space
        self.observation_space = self._pool.observation_space
        self.action_space = self._pool.action_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:  # noqa: ARG002
        if seed is not None:
            self._pool.close()
            # EnvPool takes a seed of 31 bits.
            self._pool = self._make(seed % 2**31)
        observations, info = self._pool.reset()
        return observations, info

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        result: tuple[Any, Any, Any, Any, dict[str, Any]] = self._pool.step(actions)
        return result

    def close_extras(self, **_: Any) -> None:
        self._pool.close()

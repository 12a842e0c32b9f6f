"""Makes vector environments of Brax."""

from typing import Any

import numpy as np
from gymnasium import spaces

from muster_runner.blocks.jax_rows import JaxEnvironment, JaxRows, import_jax_library
from muster_runner.environments import VectorEnvironment
from muster_runner.refusal import EnvironmentRefusal

# The default of Brax's own training.
EPISODE_LENGTH = 1000


def make_brax(identifier: str, width: int, kwargs: dict[str, Any]) -> VectorEnvironment:
    """@param kwargs: arguments of `brax.envs.create`, which include `episode_length` and `action_repeat`.

    @raises EnvironmentRefusal
    """
    import_jax_library("brax", f"brax:{identifier}")
    from brax import envs
    from brax.envs.wrappers import training

    options = dict(kwargs)
    length, repeat = options.pop("episode_length", EPISODE_LENGTH), options.pop("action_repeat", 1)
    try:
        inner = envs.get_environment(identifier, **options)
    except KeyError as error:
        if error.args != (identifier,):
            raise
        raise EnvironmentRefusal(f"Brax has no environment {identifier!r}; brax/envs/__init__.py lists those that it has") from error
    return JaxRows(_make_rows(inner, training.wrap(inner, episode_length=length, action_repeat=repeat)), width)


def _make_rows(inner: Any, rows: Any) -> JaxEnvironment:
    import jax.numpy as jnp

    def reset(keys: Any) -> tuple[Any, Any]:
        state = rows.reset(keys)
        return state, state.obs

    def step(state: Any, actions: Any) -> tuple[Any, Any, Any, Any, Any, dict[str, Any]]:
        after = rows.step(state, actions)
        truncated = after.info["truncation"].astype(bool)
        terminated = jnp.logical_and(after.done.astype(bool), jnp.logical_not(truncated))
        return after, after.obs, after.reward, terminated, truncated, dict(after.metrics)

    low, high = np.asarray(inner.sys.actuator.ctrl_range, np.float32).T
    observations = spaces.Box(-np.inf, np.inf, (inner.observation_size,), np.float32)
    return JaxEnvironment(observations, spaces.Box(low, high, dtype=np.float32), reset, step)

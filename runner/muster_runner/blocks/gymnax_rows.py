"""Makes vector environments of gymnax."""

from importlib.metadata import version
from typing import Any

from muster_runner.blocks.jax_rows import JaxEnvironment, JaxRows, import_jax_library
from muster_runner.environments import VectorEnvironment
from muster_runner.refusal import EnvironmentRefusal

# Before gymnax 1.0, a step did not distinguish termination from truncation, and returned one value less.
OLDEST = 1


def make_gymnax(identifier: str, width: int, kwargs: dict[str, Any]) -> VectorEnvironment:
    """@param kwargs: arguments of `gymnax.make`; `params` among them sets fields of the environment's parameters. @raises
    EnvironmentRefusal
    """
    library = import_jax_library("gymnax", f"gymnax:{identifier}")
    installed = version("gymnax")
    if int(installed.partition(".")[0]) < OLDEST:
        raise EnvironmentRefusal(f"gymnax:{identifier} needs gymnax {OLDEST}.0 or newer, this is {installed}: pip install -U gymnax")
    if identifier not in library.registered_envs:
        raise EnvironmentRefusal(f"gymnax has no environment {identifier!r}; gymnax.registered_envs names those that it has")
    options = dict(kwargs)
    changed = options.pop("params", {})
    environment, params = library.make(identifier, **options)
    unknown = [name for name in changed if not hasattr(params, name)]
    if unknown:
        there = ", ".join(vars(params))
        raise EnvironmentRefusal(f"the parameters of gymnax:{identifier} have no {unknown[0]!r}; they have {there}")
    return JaxRows(_make_rows(environment, params.replace(**changed)), width)


def _make_rows(environment: Any, params: Any) -> JaxEnvironment:
    import jax
    from gymnax.environments.spaces import gymnax_space_to_gym_space

    def reset(key: Any) -> tuple[Any, Any]:
        own, first = jax.random.split(key)
        observation, state = environment.reset(first, params)
        return (own, state), observation

    def step(state: Any, action: Any) -> tuple[Any, Any, Any, Any, Any, dict[str, Any]]:
        own, now = jax.random.split(state[0])
        observation, after, reward, terminated, truncated, info = environment.step(now, state[1], action, params)
        return (own, after), observation, reward, terminated, truncated, _pick_metrics(info)

    observations = gymnax_space_to_gym_space(environment.observation_space(params))
    actions = gymnax_space_to_gym_space(environment.action_space(params))
    return JaxEnvironment(observations, actions, jax.vmap(reset), jax.vmap(step))


def _pick_metrics(info: dict[str, Any]) -> dict[str, Any]:
    """Picks the scalars of a row's info. Arrays, such as observations, are left out."""
    return {name: value for name, value in info.items() if getattr(value, "shape", None) == ()}

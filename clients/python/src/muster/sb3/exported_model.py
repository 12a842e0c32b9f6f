"""Exports a Stable-Baselines3 model as one portable file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from muster.exporting.errors import ExportError
from muster.exporting.parity import OBSERVATIONS
from muster.sb3.normalisation import find_normaliser, read_statistics
from muster.sb3.observations import ObservationPath
from muster.sb3.snapshot import take_snapshot
from muster.sb3.zip_file import load
from muster_client.arguments import suggests_keywords

Environment = str | Any | Callable[[], Any]
"""The name of a registered environment, a gymnasium.Env, or a function that makes one."""
SEED = 0


@suggests_keywords
def export(
    model: Any,
    path: str | Path | None = None,
    *,
    environment: Environment | None = None,
    vec_normalize: Any = None,
    algorithm: str | None = None,
) -> Path:
    """Writes the policy of a model as one file, after 1,000 observations on which it acts as `model.predict` does.

    @param model: the model, or the path of the zip that `model.save` wrote, which is unpickled.
    @param path: of the file, without an ending: it becomes `.safetensors` for a plain multilayer perceptron, and `.onnx` for everything
        else. Beside the zip when left out.
    @param environment: that observations are taken from, wrapped as in the suite: one of its own, and never the model's, is played.
    @param vec_normalize: path of what `VecNormalize.save` wrote, a VecNormalize, or "none"; the model's own when left out.
    @param algorithm: of the zip; it tells when left out.
    Raises MissingNormalisation, ParityError naming the first layer that differs, and ExportError for everything else. None leaves a file.
    """
    saved_at = Path(model) if isinstance(model, (str, Path)) else None
    loaded = model if saved_at is None else load(saved_at, algorithm=algorithm)
    normaliser = find_normaliser(loaded, vec_normalize, saved_at)
    player = _resolve_environment(environment, loaded)
    try:
        observed = ObservationPath(
            player.observation_space, loaded.observation_space, read_statistics(normaliser), bool(loaded.policy.normalize_images)
        )
        observations = _play_batch(player, loaded, observed, normaliser)
        taken = take_snapshot(loaded, observed, observations, normaliser)
    finally:
        if player is not environment:
            player.close()
    target = Path(path) if path is not None else (saved_at or Path("policy")).with_suffix("")
    if target.suffix not in ("", taken.suffix, ".onnx"):
        raise ExportError(f"path: this policy is written as {taken.suffix} or .onnx, got {target.name}")
    written = target if target.suffix else target.with_name(target.name + taken.suffix)
    taken.write(written)
    return written


def _resolve_environment(given: Environment | None, model: Any) -> Any:
    import gymnasium

    if given is None:
        return _make_environment_like(model)
    if isinstance(given, str):
        return gymnasium.make(given)
    if isinstance(given, gymnasium.Env):
        return given
    if callable(given):
        return given()
    raise ExportError(f"environment: expected a name, a gymnasium.Env or a function that makes one, got {type(given).__name__}")


def _make_environment_like(model: Any) -> Any:
    """Makes a new environment like the model's, and leaves that one alone."""
    import gymnasium

    remedy = 'give environment="CartPole-v1", a gymnasium.Env or a function that makes one, wrapped as in the suite'
    if (vectors := model.get_env()) is None:
        raise ExportError(f"environment: the model has none to take observations from; {remedy}")
    spec = vectors.get_attr("spec")[0]
    if spec is None:
        raise ExportError(f"environment: the model's is not registered, so another one cannot be made; {remedy}")
    made = gymnasium.make(spec.id, **spec.kwargs)
    space = vectors.unwrapped.observation_space
    if made.observation_space != space:
        made.close()
        alone = f"{spec.id} alone gives {made.observation_space}"
        raise ExportError(f"environment: {alone}, the model's is wrapped and gives {space}; {remedy}")
    return made


def _play_batch(environment: Any, model: Any, path: ObservationPath, normaliser: Any | None) -> Any:
    """Plays a batch of observations. Every second action is drawn, for variety."""
    environment.action_space.seed(SEED)
    observation, _ = environment.reset(seed=SEED)
    seen = [observation]
    while len(seen) < OBSERVATIONS:
        action = environment.action_space.sample()
        if len(seen) % 2:
            taken = path.arrange(stack_batch([observation]))
            actions, _ = model.policy.predict(taken if normaliser is None else normaliser.normalize_obs(taken), deterministic=True)
            action = actions[0]
        observation, _, terminated, truncated, _ = environment.step(action)
        if terminated or truncated:
            observation, _ = environment.reset()
        seen.append(observation)
    return stack_batch(seen)


def stack_batch(observations: list[Any]) -> Any:
    """Stacks single observations along a new first dimension."""
    if isinstance(observations[0], dict):
        return {name: np.stack([observation[name] for observation in observations]) for name in observations[0]}
    return np.stack([np.asarray(observation) for observation in observations])

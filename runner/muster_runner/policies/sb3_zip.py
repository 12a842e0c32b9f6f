"""Reads the zip files that `model.save` of Stable-Baselines3 writes, with that library. Pickled code in them is run."""

import json
import zipfile
from pathlib import Path
from typing import Any

from muster_runner.failure import describe, describe_installation
from muster_runner.policies.torch_library import import_torch
from muster_runner.refusal import PolicyRefusal

# For each algorithm a field that only it saves. More specific ones come first: DDPG is saved as TD3 is.
SIGNS = {
    "clip_range": "PPO",
    "exploration_rate": "DQN",
    "target_entropy": "SAC",
    "target_policy_noise": "TD3",
    "gae_lambda": "A2C",
}
KNOWN = ("PPO", "A2C", "DQN", "SAC", "TD3", "DDPG")
EXPECTED = "expected the zip that model.save() of Stable-Baselines3 wrote"
# In bytes. The settings, which do not contain the networks, take a few kilobytes.
MOST_SETTINGS_BYTES = 64 << 20


def load_model(path: Path, algorithm: str | None = None) -> Any:
    """Loads the model on the CPU, without an environment.

    @param algorithm: one of KNOWN; read from the zip if omitted. @raises PolicyRefusal when the file is no such zip, has an unknown
    algorithm, or cannot be read by the installed version.
    """
    data, version = _read_saved(path)
    name = algorithm or _find_algorithm(data, path)
    if name not in KNOWN:
        raise PolicyRefusal(f"algorithm: expected one of {', '.join(KNOWN)}, got {name!r}")
    # torch is imported after the file is read. Otherwise a file that is no model would be refused a second time after torch is installed.
    import_torch(path, "a model of Stable-Baselines3")
    library = _import_library(path)
    try:
        return getattr(library, name).load(path, device="cpu", custom_objects=_skip_training())
    except Exception as error:
        # Unpickling a zip of another version, or one with classes that are not installed, may fail with any exception.
        raise PolicyRefusal(
            f"{path.name} was written by Stable-Baselines3 {version}, and {library.__version__}, which is installed here, cannot load it "
            f"as {name}: {describe(error)}. Install the version that wrote it, or make the classes that it names importable"
        ) from error


def find_sign_of_normalisation(model: Any) -> str | None:
    """Finds the sign that a model was trained on observations of VecNormalize, in words; None when it has no such sign."""
    from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm

    original, last = model._last_original_obs, model._last_obs
    if isinstance(model, OnPolicyAlgorithm) and original is not None:
        return "it has kept an observation from before normalisation"
    if original is not None and not _is_inside(last, model.observation_space):
        return "its last observation lies outside of its observation space"
    return None


def _import_library(path: Path) -> Any:
    try:
        import stable_baselines3
    except ImportError as error:
        raise PolicyRefusal(
            f"{path.name} is a model of Stable-Baselines3, and the Python of this sandbox has none ({error}): "
            f"{describe_installation('stable-baselines3')}, or export the policy with muster.sb3.export (docs/training.md)"
        ) from error
    return stable_baselines3


def _skip_training() -> dict[str, Any]:
    """Returns replacements for objects that only training needs: a buffer of a million steps, and functions pickled by another Python."""

    def constant(_: float) -> float:
        return 0.0

    schedules = dict.fromkeys(("lr_schedule", "clip_range", "clip_range_vf", "exploration_schedule"), constant)
    return {"buffer_size": 1, "learning_rate": 0.0, **schedules}


def _read_saved(path: Path) -> tuple[dict[str, Any], str]:
    """Returns what can be read of the model without running code, and the version that wrote it."""
    if not path.is_file():
        raise PolicyRefusal(f"{path} is not a file; {EXPECTED}")
    try:
        with zipfile.ZipFile(path) as archive:
            data = json.loads(_read_entry(archive, "data"))
            version = _read_entry(archive, "_stable_baselines3_version").decode().strip()
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise PolicyRefusal(f"{path.name} cannot be read ({error}); {EXPECTED}") from error
    if not isinstance(data, dict):
        raise PolicyRefusal(f"{path.name} holds {type(data).__name__} as its data; {EXPECTED}")
    return data, version


def _read_entry(archive: zipfile.ZipFile, name: str) -> bytes:
    with archive.open(name) as file:
        content = file.read(MOST_SETTINGS_BYTES + 1)
    if len(content) > MOST_SETTINGS_BYTES:
        raise ValueError(f"its {name} has more than {MOST_SETTINGS_BYTES} bytes")
    return content


def _find_algorithm(data: dict[str, Any], path: Path) -> str:
    for field, name in SIGNS.items():
        if field in data:
            return name
    fields = ", ".join(sorted(data)[:8])
    raise PolicyRefusal(f"{path.name} is of an unknown algorithm (it saves {fields}, …); expected {', '.join(KNOWN)}")


def _is_inside(batch: Any, space: Any) -> bool:
    """Returns whether a batch of observations is within the bounds of a space."""
    import numpy as np
    from gymnasium import spaces

    if isinstance(space, spaces.Dict):
        return all(_is_inside(batch[name], inner) for name, inner in space.spaces.items())
    if batch is None or not isinstance(space, spaces.Box) or np.asarray(batch).shape[1:] != space.shape:
        return True
    margin = 1e-3 * (1 + np.abs(np.asarray(batch)))
    return bool(((batch >= space.low - margin) & (batch <= space.high + margin)).all())

"""What `model.save` of Stable-Baselines3 wrote."""

import json
import zipfile
from pathlib import Path
from typing import Any

from muster.exporting.errors import ExportError

# A field that the algorithm alone saves, the more particular ones first: DDPG is saved as TD3 is.
SIGNS = {
    "clip_range": "PPO",
    "exploration_rate": "DQN",
    "target_entropy": "SAC",
    "target_policy_noise": "TD3",
    "gae_lambda": "A2C",
}
KNOWN = ("PPO", "A2C", "DQN", "SAC", "TD3", "DDPG")
EXPECTED = "expected the zip that model.save() of Stable-Baselines3 wrote"


def load(path: str | Path, *, algorithm: str | None = None) -> Any:
    """The model in a zip, on the CPU and without an environment. What is pickled in it is run: load only what you trust.

    @param algorithm: PPO, A2C, DQN, SAC, TD3 or DDPG; the zip tells when it is left out.
    Raises ExportError when it is no such zip, was written by a version that this one cannot read, or is of an unknown algorithm.
    """
    found = Path(path)
    data, version = _saved(found)
    name = algorithm or _algorithm(data, found)
    if name not in KNOWN:
        raise ExportError(f"algorithm: expected one of {', '.join(KNOWN)}, got {name!r}")
    import stable_baselines3

    installed = stable_baselines3.__version__
    try:
        return getattr(stable_baselines3, name).load(found, device="cpu")
    except Exception as error:
        # What is pickled in a zip of another version, or with classes that are not here, fails in any way.
        raise ExportError(
            f"{found} was written by Stable-Baselines3 {version}, and {installed}, which is installed here, cannot load it as {name}: "
            f"{error}. Install the version that wrote it, make the classes that it names importable, or give algorithm=…"
        ) from error


def _saved(path: Path) -> tuple[dict[str, Any], str]:
    """What is told of the model without running anything, and the version that wrote it."""
    if not path.is_file():
        raise ExportError(f"{path} is no file; {EXPECTED}")
    try:
        with zipfile.ZipFile(path) as archive:
            data = json.loads(archive.read("data"))
            version = archive.read("_stable_baselines3_version").decode().strip()
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise ExportError(f"{path} cannot be read ({error}); {EXPECTED}") from error
    if not isinstance(data, dict):
        raise ExportError(f"{path} holds {type(data).__name__} as its data; {EXPECTED}")
    return data, version


def _algorithm(data: dict[str, Any], path: Path) -> str:
    for field, name in SIGNS.items():
        if field in data:
            return name
    fields = ", ".join(sorted(data)[:8])
    expected = f"expected {', '.join(KNOWN)}, or give algorithm=…"
    raise ExportError(f"{path} is of an algorithm that is not known (it saves {fields}, …); {expected}")

"""As a new user has it: an empty directory, the wheel, ten lines that train with Stable-Baselines3, and the curves in TensorBoard."""

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest
from stable_baselines3 import PPO

from tests.real_server import GAME, HANG_SECONDS, REPOSITORY
from tests.training.test_callback import played_by_library, scalars

TRAINING = """
from stable_baselines3 import PPO

from muster.sb3 import MusterCallback

few = {"rule": "fixed", "episodes": 16}
callback = MusterCallback("cartpole.yaml", every=512, log="tensorboard", busy="queue", directory="run", stop=few)
model = PPO("MlpPolicy", "CartPole-v1", n_steps=128, device="cpu", seed=1, tensorboard_log="board")
model.learn(1200, callback=callback)
model.save("model.zip")
print(callback.best)
"""
STEPS = [512, 1024, 1280]
NODE = REPOSITORY / "node_modules" / ".bin" / "node"


class Place:
    """A directory in which nothing of the repository is, with a Python environment that has the libraries and the wheel."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.python = directory / "venv" / "bin" / "python"

    def run(self, *command: str | Path) -> str:
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("MUSTER_", "PYTHON"))}
        state = {"XDG_STATE_HOME": str(self.directory / "state"), "XDG_CACHE_HOME": str(self.directory / "cache")}
        done = subprocess.run(
            [str(part) for part in command],
            cwd=self.directory,
            env={**environment, **state},
            capture_output=True,
            text=True,
            timeout=HANG_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    place = Place(tmp_path_factory.mktemp("installed"))
    wheel = REPOSITORY / place.run(NODE, REPOSITORY / "scripts" / "packages" / "wheel.ts").strip()
    place.run(sys.executable, "-m", "venv", "--without-pip", "venv")
    own = place.run(place.python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    # Links, where both places are on one disk: gigabytes need not be installed again.
    place.run("cp", "--archive", "--link", f"{sysconfig.get_path('purelib')}/.", own)
    quiet = ("--quiet", "--disable-pip-version-check", "--no-index")
    place.run(sys.executable, "-m", "pip", "--python", place.python, "install", *quiet, wheel)
    (place.directory / "cartpole.yaml").write_bytes((GAME / "cartpole.yaml").read_bytes())
    yield place


def test_evaluations_are_in_tensorboard_at_their_steps_and_the_last_one_has_the_returns_of_the_library(place: Place) -> None:
    (place.directory / "train.py").write_text(TRAINING)
    where = place.run(place.python, "-c", "import muster; print(muster.__file__)")
    assert where.startswith(str(place.directory))
    place.run(place.python, "train.py")
    logged = scalars(place.directory / "board" / "PPO_1")
    assert [step for step, _ in logged["muster/mean"]] == STEPS
    assert {"muster/low", "muster/high", "muster/estimate", "rollout/ep_rew_mean"} <= set(logged)

    # The same file again by the command of the wheel, which tells each episode's seed.
    (last,) = (place.directory / "run" / "checkpoints").glob(f"step-{STEPS[-1]}.*")
    place.run(place.directory / "venv" / "bin" / "muster", "eval", "cartpole.yaml", "-c", last, "--episodes", "16", "--out", "again")
    episodes = [json.loads(line) for line in (place.directory / "again" / "episodes.ndjson").read_text().splitlines()]
    returns = [episode["outcome"]["return"] for episode in episodes]
    assert logged["muster/mean"][-1][1] == pytest.approx(sum(returns) / len(returns))
    trained = PPO.load(place.directory / "model.zip", device="cpu")
    assert returns == played_by_library(trained, [int(episode["environmentSeed"]) for episode in episodes])

"""Without a server to name: the trainer's own, which is gone with it, however it ends."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import CallbackList, ConvertCallback

from muster.sb3 import MusterCallback
from muster.training.record import Record
from tests.real_server import GAME
from tests.training.leftovers import processes_of

torch.set_num_threads(1)
SUITE = str(GAME / "cartpole.yaml")
FEW = {"rule": "fixed", "episodes": 24}


@pytest.fixture(autouse=True)
def no_server_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MUSTER_URL", raising=False)


def model() -> PPO:
    return PPO("MlpPolicy", "CartPole-v1", n_steps=64, batch_size=64, device="cpu", seed=1)


def test_a_training_without_a_server_has_its_own_and_leaves_nothing(tmp_path: Path) -> None:
    callback = MusterCallback(SUITE, every=128, directory=tmp_path, busy="wait", stop=FEW)
    model().learn(256, callback=callback)
    assert [score.step for score in Record(tmp_path).scores()] == [128, 256]
    assert processes_of(tmp_path) == []


def test_a_server_that_crashes_is_started_anew(tmp_path: Path) -> None:
    killed = []

    def crash(local: dict[str, Any], _global: dict[str, Any]) -> bool:
        if local["self"].num_timesteps == 200:
            for pid in " ".join(path.read_text() for path in Path("/proc/self/task").glob("*/children")).split():
                if b"--child" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    os.kill(int(pid), signal.SIGKILL)
                    killed.append(pid)
        return True

    callback = MusterCallback(SUITE, every=128, directory=tmp_path, busy="wait", stop=FEW)
    model().learn(256, callback=CallbackList([ConvertCallback(crash), callback]))
    assert len(killed) == 1
    assert [score.step for score in Record(tmp_path).scores()] == [128, 256]
    assert processes_of(tmp_path) == []

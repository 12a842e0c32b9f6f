"""Without a server to name: the trainer's own, which is gone with it, however it ends."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import CallbackList, ConvertCallback

from muster import embedded
from muster.sb3 import MusterCallback
from muster.training.record import Record
from muster.training.serving import Connection
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


def test_a_training_without_a_server_starts_its_own_and_leaves_nothing(tmp_path: Path) -> None:
    callback = MusterCallback(SUITE, every=128, directory=tmp_path, busy="wait", stop=FEW)
    model().learn(256, callback=callback)
    assert [score.step for score in Record(tmp_path).scores()] == [128, 256]
    assert processes_of(tmp_path) == []


@pytest.mark.parametrize("given", [None, 5])
def test_the_training_keeps_one_processor_unless_the_number_of_sandboxes_is_given(
    given: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MUSTER_POOL__MAX", raising=False)
    if given is not None:
        monkeypatch.setenv("MUSTER_POOL__MAX", str(given))
    with embedded.start() as server, server.client() as client:
        processors = [pool.max for pool in client.pools()]
    with Connection(None, None, tmp_path) as connection:
        found = [pool.max for pool in connection.client().pools()]
    assert found == (processors if given is not None else [max(1, most - 1) for most in processors])


def test_a_crashed_server_is_restarted(tmp_path: Path) -> None:
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

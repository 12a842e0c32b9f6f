"""Without a server to name: the trainer's own, which is gone with it, however it ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from stable_baselines3 import PPO

from muster.sb3 import MusterCallback
from muster.training.record import Record
from tests.real_server import GAME, REPOSITORY

torch.set_num_threads(1)
SUITE = str(GAME / "cartpole.yaml")
FEW = {"rule": "fixed", "episodes": 24}
LONG = """
import sys, torch
from stable_baselines3 import PPO
from muster.sb3 import MusterCallback
torch.set_num_threads(1)
callback = MusterCallback(sys.argv[1], every=64, directory=sys.argv[2], stop={"rule": "fixed", "episodes": 20000})
PPO("MlpPolicy", "CartPole-v1", n_steps=64, batch_size=64, device="cpu", seed=1).learn(100_000_000, callback=callback)
"""
DEADLINE_SECONDS = 120


@pytest.fixture(autouse=True)
def no_server_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MUSTER_URL", raising=False)


def model() -> PPO:
    return PPO("MlpPolicy", "CartPole-v1", n_steps=64, batch_size=64, device="cpu", seed=1)


def processes_of(directory: Path) -> list[str]:
    """Whose environment or arguments name a directory: the server's, and its sandboxes'."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdecimal() and int(process.name) != os.getpid():
            try:
                told = (process / "environ").read_bytes() + (process / "cmdline").read_bytes()
            except OSError:
                continue
            if str(directory).encode() in told:
                found.append(process.name)
    return found


def test_a_training_without_a_server_has_its_own_and_leaves_nothing(tmp_path: Path) -> None:
    callback = MusterCallback(SUITE, every=128, directory=tmp_path, busy="wait", stop=FEW)
    model().learn(256, callback=callback)
    assert [score.step for score in Record(tmp_path).scores()] == [128, 256]
    assert processes_of(tmp_path) == []


def test_a_killed_trainer_leaves_no_server_and_the_next_one_goes_on_with_its_evaluation(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": f"{REPOSITORY}/clients/python/src"}
    trainer = subprocess.Popen([sys.executable, "-c", LONG, SUITE, str(tmp_path)], env=environment)
    server_log = tmp_path / "server" / "server.log"
    begin = time.monotonic()
    while not (server_log.exists() and Record(tmp_path).waiting()):
        assert trainer.poll() is None and time.monotonic() - begin < DEADLINE_SECONDS
        time.sleep(0.1)
    trainer.send_signal(signal.SIGKILL)
    trainer.wait(timeout=10)
    begin = time.monotonic()
    while processes_of(tmp_path):
        assert time.monotonic() - begin < DEADLINE_SECONDS
        time.sleep(0.1)

    (accepted,) = Record(tmp_path).waiting()
    model().learn(64, callback=MusterCallback(SUITE, every=1000, directory=tmp_path, stop=FEW))
    assert Record(tmp_path).waiting() == []
    assert accepted.step in [score.step for score in Record(tmp_path).scores()]

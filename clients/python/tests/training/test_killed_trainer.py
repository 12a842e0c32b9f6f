"""A trainer that is killed at any moment leaves nothing behind, and what was accepted is gone on with."""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.training.record import Record
from muster_client import Client
from tests.real_server import GAME, REPOSITORY, RealServer

MOMENTS = 20
STEPS = 768
TRAINER = """
import sys, torch
from stable_baselines3 import PPO
from muster.sb3 import MusterCallback
torch.set_num_threads(1)
suite, directory, steps, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
callback = MusterCallback(suite, every=128, directory=directory, busy="queue", stop={"rule": "fixed", "episodes": 24})
model = PPO("MlpPolicy", "CartPole-v1", n_steps=64, batch_size=64, device="cpu", seed=seed)
print("training", flush=True)
model.learn(steps, callback=callback)
print("ended", flush=True)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    with RealServer(tmp_path_factory.mktemp("muster")) as server:
        yield server


def trainer(server: RealServer, directory: Path, steps: int, seed: int) -> "subprocess.Popen[str]":
    path = f"{REPOSITORY}/clients/python/src"
    environment = {**os.environ, "MUSTER_URL": server.url, "PYTHONPATH": path}
    command = [sys.executable, "-c", TRAINER, str(GAME / "cartpole.yaml"), str(directory), str(steps), str(seed)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def test_what_was_accepted_is_concluded_by_the_next_training_whenever_the_one_before_was_killed(server: RealServer, tmp_path: Path) -> None:
    chosen = random.Random(1)
    for moment in range(MOMENTS):
        process = trainer(server, tmp_path, STEPS, moment)
        assert process.stdout is not None
        assert process.stdout.readline() == "training\n"
        try:
            # How far the training is by then is left to the machine: that is the point.
            process.wait(timeout=chosen.uniform(0, 4))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        assert process.returncode in (0, -signal.SIGKILL), moment

    waiting = Record(tmp_path).waiting()
    last = trainer(server, tmp_path, 64, MOMENTS)
    last.communicate(timeout=300)
    assert last.returncode == 0
    record = Record(tmp_path)
    assert record.waiting() == []
    concluded = {Path(score.file).name for score in record.scores()}
    assert {accepted.file for accepted in waiting} <= concluded
    with Client(server.url) as client:
        assert [item.id for item in client.list(state=["waiting", "running"])] == []
        played = [item.id for item in client.list()]
    assert {score.evaluation for score in record.scores()} == set(played)
    assert [path.name for path in (tmp_path / "checkpoints").iterdir() if path.name.startswith(".")] == []

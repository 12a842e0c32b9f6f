"""A trainer that is killed at any moment leaves nothing behind, and what was accepted is gone on with."""

import os
import random
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

import pytest

from muster import embedded
from muster.training.record import Record
from muster_client import Client
from tests.full_form import IS_FULL_FORM
from tests.real_server import GAME, HANG_SECONDS, REPOSITORY, RealServer
from tests.training.leftovers import processes_of, sockets_of

# Tells how far it is, line by line: steps of the training, then what is told of evaluations while their end is waited for.
TRAINER = """
import logging, sys, torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback, CallbackList
from muster.sb3 import MusterCallback
class Told(BaseCallback):
    def _on_step(self):
        if self.num_timesteps % 32 == 0:
            print("step", self.num_timesteps, flush=True)
        return True
torch.set_num_threads(1)
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s")
suite, directory, steps, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
callback = MusterCallback(suite, every=64, directory=directory, busy="queue", stop={"rule": "fixed", "episodes": 24})
model = PPO("MlpPolicy", "CartPole-v1", n_steps=64, batch_size=64, device="cpu", seed=seed)
model.learn(steps, callback=CallbackList([Told(), callback]))
"""
STEPS = 256
LINES = STEPS // 32 + 2 * STEPS // 64
"""Of a training that is let be: those of its steps, and two of each evaluation."""


class Place:
    """Where everything lies that trainers and their servers write."""

    def __init__(self, directory: Path, server: str | None) -> None:
        self.run, self._temporary, self._state = (directory / name for name in ("run", "temporary", "state"))
        self._temporary.mkdir()
        self.directory, self._server = directory, server

    def trainer(self, steps: int, seed: int) -> "subprocess.Popen[bytes]":
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER_")}
        places = {"TMPDIR": str(self._temporary), "XDG_STATE_HOME": str(self._state), "PYTHONPATH": f"{REPOSITORY}/clients/python/src"}
        named = {} if self._server is None else {"MUSTER_URL": self._server}
        command = [sys.executable, "-c", TRAINER, str(GAME / "cartpole.yaml"), str(self.run), str(steps), str(seed)]
        return subprocess.Popen(command, env={**inherited, **places, **named}, stdout=subprocess.PIPE, bufsize=0)

    def left_behind(self) -> list[str]:
        """Processes, sockets and temporary files; of a server that is gone, what its sandboxes were made in as well."""
        # PyTorch and Stable-Baselines3 make directories of their own there, and leave them.
        files = [path for path in self._temporary.rglob("*") if "muster" in path.name]
        sandboxes = [path for path in self.run.glob("server/**/*") if path.parent.name == "sandboxes" or path.is_socket()]
        unfinished = self.run.glob("checkpoints/.*")
        return [*processes_of(self.directory), *sockets_of(self.directory), *map(str, (*files, *sandboxes, *unfinished))]


def lines_of(process: "subprocess.Popen[bytes]") -> Iterator[str]:
    """Until it ends. The limit is that of one line: how long all of them take is a matter of the machine and its load."""
    assert process.stdout is not None
    with process.stdout as output, selectors.DefaultSelector() as selector:
        selector.register(output, selectors.EVENT_READ)
        told, rest = "", b""
        while True:
            assert selector.select(HANG_SECONDS), f"nothing came after {told!r}"
            if not (came := output.read(65_536)):
                return
            *lines, rest = (rest + came).split(b"\n")
            for line in lines:
                told = line.decode()
                yield told


def kill_at(process: "subprocess.Popen[bytes]", line: int) -> None:
    """SIGKILL once it has told so many lines, or has ended before."""
    lines = lines_of(process)
    list(islice(lines, line))
    process.send_signal(signal.SIGKILL)
    list(lines)
    process.wait(HANG_SECONDS)


@pytest.fixture(scope="module")
def named_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    with RealServer(tmp_path_factory.mktemp("muster")) as server:
        yield server


@pytest.mark.parametrize(("is_own", "moments"), [(True, 20 if IS_FULL_FORM else 2), (False, 5 if IS_FULL_FORM else 1)])
def test_a_killed_trainer_leaves_nothing_and_the_next_one_concludes_its_evaluations(
    is_own: bool, moments: int, named_server: RealServer, tmp_path: Path
) -> None:
    place = Place(tmp_path, None if is_own else named_server.url)
    chosen = random.Random(1)
    # One moment in each part of the training; the parts come in any order.
    parts = chosen.sample(range(moments), moments)
    killed = []
    for moment, part in enumerate(parts):
        process = place.trainer(STEPS, moment)
        kill_at(process, 1 + int((part + chosen.random()) * LINES / moments))
        killed.append(process.returncode == -signal.SIGKILL)
        begin = time.monotonic()
        # The server ends by itself.
        while left := [one for one in place.left_behind() if "/checkpoints/" not in one]:
            assert time.monotonic() - begin < HANG_SECONDS, left
            time.sleep(0.1)
    assert sum(killed) > moments / 2

    waiting = Record(place.run).waiting()
    last = place.trainer(64, moments)
    said = list(lines_of(last))
    assert last.wait(HANG_SECONDS) == 0, said
    assert place.left_behind() == []
    record = Record(place.run)
    assert record.waiting() == []
    scores = record.scores()
    assert {accepted.file for accepted in waiting} <= {Path(score.file).name for score in scores}
    with ExitStack() as open_now:
        client = (
            open_now.enter_context(open_now.enter_context(embedded.start(state=place.run / "server")).client())
            if is_own
            else open_now.enter_context(Client(named_server.url))
        )
        assert {item.id: item.state for item in client.list()} == {score.evaluation: "finished" for score in scores}

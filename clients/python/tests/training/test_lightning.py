"""The callback in a real training with Lightning, against a real server."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from lightning.pytorch import LightningModule, Trainer
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from muster.exporting.played_observations import play_observations
from muster.exporting.torch_policy import torch_snapshot
from muster.lightning import MusterCallback
from muster.training.record import Record
from tests.real_server import GAME, RealServer

SUITE = str(GAME / "cartpole.yaml")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    with RealServer(tmp_path_factory.mktemp("muster")) as server:
        yield server


class Imitation(LightningModule):
    """Learns to push the cart under the falling pole."""

    def __init__(self) -> None:
        super().__init__()
        self.policy = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))

    def training_step(self, batch: Any, _place: int) -> Any:
        observations, actions = batch
        return nn.functional.cross_entropy(self.policy(observations), actions)

    def configure_optimizers(self) -> Any:
        return torch.optim.Adam(self.parameters(), 0.01)


@pytest.mark.parametrize("interrupted_at", [None, 25])
def test_steps_are_evaluated_and_so_is_always_the_last_policy(interrupted_at: int | None, server: RealServer, tmp_path: Path) -> None:
    torch.manual_seed(1)
    environment = gymnasium.make("CartPole-v1")
    seen = play_observations(environment)
    observations = torch.as_tensor(np.stack(seen))
    actions = (observations[:, 2] + observations[:, 3] * 0.3 > 0).long()

    class Interrupted(Imitation):
        def training_step(self, batch: Any, place: int) -> Any:
            if self.global_step == interrupted_at:
                raise KeyboardInterrupt
            return super().training_step(batch, place)

    callback = MusterCallback(
        SUITE,
        every=20,
        export=lambda module: torch_snapshot(module.policy, environment.observation_space, environment.action_space, seen),
        directory=tmp_path / "run",
        server=server.url,
        busy="wait",
        stop={"rule": "fixed", "episodes": 8},
    )
    before = set(threading.enumerate())
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "enable_model_summary": False}
    trainer = Trainer(max_epochs=3, accelerator="cpu", callbacks=[callback], default_root_dir=tmp_path, **quiet)
    try:
        trainer.fit(Interrupted(), DataLoader(TensorDataset(observations, actions), batch_size=64))
    except (KeyboardInterrupt, SystemExit):
        assert interrupted_at is not None
    steps = [score.step for score in Record(tmp_path / "run").scores()]
    assert steps == ([20, 40, 48] if interrupted_at is None else [20, interrupted_at])
    assert set(threading.enumerate()) <= before

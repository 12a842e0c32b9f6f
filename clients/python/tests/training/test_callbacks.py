"""The callbacks for Transformers, Keras and Ray Train in real trainings, against a real server."""

import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from torch import nn

from muster.exporting.errors import ExportError, ParityError
from muster.exporting.network import Permute
from muster.exporting.played_observations import play_observations
from muster.exporting.torch_policy import torch_snapshot
from muster.training.record import Record
from muster_client import InvalidArgument
from tests.real_server import GAME, REPOSITORY, RealServer
from tests.training.environments import SIDE, Pictures

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras
import ray
import ray.train
from ray.train.torch import TorchTrainer
from transformers import PretrainedConfig, PreTrainedModel, Trainer, TrainingArguments

import muster.keras
import muster.transformers

SUITE = str(GAME / "cartpole.yaml")
FEW = {"rule": "fixed", "episodes": 8}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    with RealServer(tmp_path_factory.mktemp("muster")) as server:
        yield server


@pytest.fixture(autouse=True)
def no_thread_of_muster_is_left() -> Iterator[None]:
    yield
    assert "muster" not in {thread.name for thread in threading.enumerate()}


def lesson() -> tuple[gymnasium.Env[Any, Any], list[Any], Any, Any]:
    """Observations of CartPole, and actions that push the cart under the falling pole."""
    environment = gymnasium.make("CartPole-v1")
    seen = play_observations(environment)
    observations = np.stack(seen)
    return environment, seen, observations, (observations[:, 2] + observations[:, 3] * 0.3 > 0).astype(np.int64)


def steps_of(directory: Path) -> list[int]:
    return [score.step for score in Record(directory).scores()]


class Imitation(PreTrainedModel):
    config_class = PretrainedConfig

    def __init__(self, config: PretrainedConfig) -> None:
        super().__init__(config)
        self.policy = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
        self.post_init()

    def forward(self, observation: Any, labels: Any) -> dict[str, Any]:
        logits = self.policy(observation)
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


@pytest.mark.parametrize("until", [None, 0])
def test_a_trainer_of_transformers_is_evaluated_at_its_steps(until: int | None, server: RealServer, tmp_path: Path) -> None:
    environment, seen, observations, actions = lesson()
    callback = muster.transformers.MusterCallback(
        SUITE,
        every=10,
        export=lambda model: torch_snapshot(model.policy, environment.observation_space, environment.action_space, seen),
        directory=tmp_path / "run",
        server=server.url,
        busy="wait",
        until=until,
        stop=FEW,
    )
    rows = [{"observation": torch.as_tensor(row), "labels": int(action)} for row, action in zip(observations, actions, strict=True)]
    settings = {"per_device_train_batch_size": 64, "use_cpu": True, "report_to": "none", "save_strategy": "no", "disable_tqdm": True}
    arguments = TrainingArguments(output_dir=str(tmp_path / "out"), max_steps=25, **settings)
    trainer = Trainer(model=Imitation(PretrainedConfig()), args=arguments, train_dataset=rows, callbacks=[callback])
    trainer.train()
    if until is None:
        assert steps_of(tmp_path / "run") == [10, 20, 25]
    else:
        assert trainer.state.global_step < 25
    assert callback.best is not None


def model_of_keras(seed: int = 1, activation: str = "tanh") -> Any:
    keras.utils.set_random_seed(seed)
    hidden = keras.layers.Dense(16, activation=activation, name="hidden")
    return keras.Sequential([keras.Input((4,)), hidden, keras.layers.Dropout(0.1), keras.layers.Dense(2, name="last")])


def test_a_model_of_keras_is_evaluated_while_it_is_fitted(server: RealServer, tmp_path: Path) -> None:
    environment, seen, observations, actions = lesson()
    callback = muster.keras.MusterCallback(
        SUITE,
        every=10,
        export=lambda model: muster.keras.snapshot(model, environment.observation_space, environment.action_space, seen),
        directory=tmp_path,
        server=server.url,
        busy="wait",
        stop=FEW,
    )
    model = model_of_keras()
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(observations, actions, batch_size=40, epochs=1, callbacks=[callback], verbose=0)
    assert steps_of(tmp_path) == [10, 20, 25]


@pytest.mark.parametrize("activation", ["tanh", "relu", "silu", "elu"])
def test_an_exported_keras_model_acts_as_the_model_itself(activation: str, tmp_path: Path) -> None:
    environment, seen, *_ = lesson()
    spaces = (environment.observation_space, environment.action_space)
    taken = muster.keras.snapshot(model_of_keras(activation=activation), *spaces, seen)
    taken.write(tmp_path / f"policy{taken.suffix}")
    assert taken.suffix == (".safetensors" if activation in ("tanh", "relu") else ".onnx")
    for other in (model_of_keras(2, activation), model_of_keras(activation="softplus")):
        changed = muster.keras.snapshot(other, *spaces, seen)
        with pytest.raises(ParityError, match=r"the first layer that differs is (hidden|last)"):
            type(taken)(changed.network, taken.reference).write(tmp_path / f"mutant{changed.suffix}")
    inputs = keras.Input((4,))
    branched = keras.Model(inputs, keras.layers.Add()([keras.layers.Dense(2)(inputs), keras.layers.Dense(2)(inputs)]))
    with pytest.raises(ExportError, match=r"has another input than what dense.* gives"):
        muster.keras.snapshot(branched, *spaces, seen)


def model_of_images() -> Any:
    keras.utils.set_random_seed(1)
    layers = [
        keras.layers.Conv2D(8, 4, strides=2, padding="same", activation="relu", name="wide"),
        keras.layers.Conv2D(8, 3, strides=2, padding="same", activation="relu", name="narrow"),
        keras.layers.Conv2D(16, 3, dilation_rate=2, name="last_image"),
        keras.layers.Flatten(),
        keras.layers.Dense(4),
    ]
    return keras.Sequential([keras.Input((SIDE, SIDE, 3)), *layers])


def test_an_exported_keras_model_of_images_acts_as_the_model_itself(tmp_path: Path) -> None:
    environment = Pictures()
    seen = play_observations(environment)
    taken = muster.keras.snapshot(model_of_images(), environment.observation_space, environment.action_space, seen)
    taken.write(tmp_path / "policy.onnx")
    turned = tuple(replace(one, order=(2, 1, 0)) if isinstance(one, Permute) else one for one in taken.network.layers)
    with pytest.raises(ParityError, match=r"the first layer that differs is wide"):
        type(taken)(replace(taken.network, layers=turned), taken.reference).write(tmp_path / "mutant.onnx")


def train_loop(config: dict[str, Any]) -> None:
    from muster.ray_train import MusterCallback

    environment, seen, observations, actions = lesson()
    policy = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    optimiser = torch.optim.Adam(policy.parameters(), 0.01)
    options = {"directory": config["directory"], "server": config["server"], "busy": "wait", "stop": FEW}
    with MusterCallback(SUITE, every=10, **options) as evaluate:
        for step in range(1, 26):
            loss = nn.functional.cross_entropy(policy(torch.as_tensor(observations)), torch.as_tensor(actions))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            evaluate(step, lambda: torch_snapshot(policy, environment.observation_space, environment.action_space, seen))
    ray.train.report({"best": 0.0 if evaluate.best is None else evaluate.best.mean})


def test_of_two_workers_of_ray_train_the_first_evaluates(server: RealServer, tmp_path: Path) -> None:
    path = f"{REPOSITORY}/clients/python/src:{REPOSITORY}/clients/python"
    ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": path}})
    try:
        trainer = TorchTrainer(
            train_loop,
            train_loop_config={"directory": str(tmp_path / "run"), "server": server.url},
            scaling_config=ray.train.ScalingConfig(num_workers=2),
            run_config=ray.train.RunConfig(storage_path=str(tmp_path / "ray")),
        )
        trainer.fit()
    finally:
        ray.shutdown()
    assert steps_of(tmp_path / "run") == [10, 20, 25]


def test_a_number_of_steps_below_one_is_refused() -> None:
    with pytest.raises(InvalidArgument, match=r"every: expected a whole number of steps, 1 or more, got 0"):
        muster.keras.MusterCallback(SUITE, every=0, export=lambda model: model)

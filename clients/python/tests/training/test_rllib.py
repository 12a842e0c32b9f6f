"""RLModules of the real RLlib as portable files, and the callback in a real training."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import ray
import torch
from ray.rllib.algorithms.dqn import DQNConfig
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.algorithms.sac import SACConfig
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig

from muster import rllib
from muster.exporting.errors import ExportError, ParityError
from muster.exporting.network import Normalise, Permute
from muster.exporting.played_observations import play_observations
from muster.training.record import Record
from tests.real_server import GAME, RealServer
from tests.training.environments import Pictures
from tests.training.mutations import other_activation

SUITE = str(GAME / "cartpole.yaml")
SMALL = DefaultModelConfig(fcnet_hiddens=[16, 16], fcnet_activation="tanh", head_fcnet_hiddens=[16])
CASES = [(PPOConfig, "CartPole-v1"), (PPOConfig, "Pendulum-v1"), (DQNConfig, "CartPole-v1"), (SACConfig, "Pendulum-v1")]
# The second layer needs one more row and column of zeros at the bottom and on the right.
CONVOLUTIONS = DefaultModelConfig(conv_filters=[[8, 4, 2], [8, 3, 2], [16, 3, 2, "valid"]], conv_activation="relu", head_fcnet_hiddens=[16])


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, configure_logging=False)
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    with RealServer(tmp_path_factory.mktemp("muster")) as server:
        yield server


def module_of(config: Any, name: str, seed: int = 1) -> Any:
    torch.manual_seed(seed)
    environment = gymnasium.make(name)
    described = config().environment(name).rl_module(model_config=SMALL)
    built = described.get_rl_module_spec(env=environment, inference_only=False).build()
    for parameter in built.parameters():
        parameter.data = torch.randn_like(parameter) * 0.4
    return built


@pytest.mark.parametrize(("config", "name"), CASES)
@pytest.mark.parametrize("is_normalised", [False, True])
def test_an_exported_module_acts_as_the_module_itself(config: Any, name: str, is_normalised: bool, tmp_path: Path) -> None:
    module = module_of(config, name)
    module.save_to_path(str(tmp_path / "module"))
    mean = np.full_like(gymnasium.make(name).reset()[0], 0.1)
    normalise = Normalise(mean, mean * 20, clip=1.5, epsilon=1e-8) if is_normalised else None
    written = rllib.export(tmp_path / "module", tmp_path / "policy", environment=name, normalise=normalise)
    assert rllib.export(module, tmp_path / "live", environment=name, normalise=normalise).read_bytes() == written.read_bytes()

    environment = gymnasium.make(name)
    spaces, seen = (environment.observation_space, environment.action_space), play_observations(environment)
    taken = rllib.snapshot(module, *spaces, seen, normalise=normalise)
    other = rllib.snapshot(module_of(config, name, seed=2), *spaces, seen, normalise=normalise)
    bare = rllib.snapshot(module, *spaces, seen)
    networks = [other.network, other_activation(taken.network), *([bare.network] if is_normalised else [])]
    for network in networks:
        mutant = type(taken)(network, taken.reference)
        with pytest.raises(ParityError, match=r"of 1000 observations"):
            mutant.write(tmp_path / f"mutant{mutant.suffix}")


@pytest.mark.parametrize("config", [PPOConfig, DQNConfig])
def test_an_exported_module_of_images_acts_as_the_module_itself(config: Any, tmp_path: Path) -> None:
    torch.manual_seed(1)
    environment = Pictures()
    described = config().environment(Pictures).rl_module(model_config=CONVOLUTIONS)
    module = described.get_rl_module_spec(env=environment, inference_only=False).build()
    seen = play_observations(environment)
    taken = rllib.snapshot(module, environment.observation_space, environment.action_space, seen)
    taken.write(tmp_path / "policy.onnx")
    turned = tuple(Permute(layer.name, (2, 1, 0)) if isinstance(layer, Permute) else layer for layer in taken.network.layers)
    with pytest.raises(ParityError, match=r"the first layer that differs is 0$"):
        type(taken)(replace(taken.network, layers=turned), taken.reference).write(tmp_path / "mutant.onnx")


def test_a_directory_without_a_checkpoint_and_a_model_that_is_no_perceptron_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"holds no RLModule; expected the directory that save_to_path"):
        rllib.export(tmp_path, tmp_path / "policy", environment="CartPole-v1")
    recurrent = DefaultModelConfig(use_lstm=True, max_seq_len=4)
    environment = gymnasium.make("CartPole-v1")
    config = PPOConfig().environment("CartPole-v1").rl_module(model_config=recurrent)
    module = config.get_rl_module_spec(env=environment, inference_only=False).build()
    with pytest.raises(ExportError, match=r"LSTM.* is neither a perceptron nor a convolutional network"):
        rllib.export(module, tmp_path / "policy", environment="CartPole-v1")


def test_a_training_is_evaluated_at_its_steps_and_its_last_policy_when_it_is_stopped(server: RealServer, tmp_path: Path) -> None:
    callback = rllib.MusterCallback(
        SUITE, every=256, directory=tmp_path, server=server.url, busy="wait", stop={"rule": "fixed", "episodes": 8}
    )
    config = (
        PPOConfig()
        .environment("CartPole-v1")
        .env_runners(num_env_runners=0)
        .training(train_batch_size=256, minibatch_size=64, num_epochs=1)
        .rl_module(model_config=SMALL)
        .callbacks(on_train_result=callback)
    )
    before = {thread.name for thread in threading.enumerate()}
    algorithm = config.build_algo()
    steps = [int(algorithm.train()["num_env_steps_sampled_lifetime"]) for _ in range(2)]
    algorithm.save_to_path(str(tmp_path / "algorithm"))
    algorithm.stop()
    assert [score.step for score in Record(tmp_path).scores()] == steps
    assert "muster" not in {thread.name for thread in threading.enumerate()} - before
    exported = rllib.export(tmp_path / "algorithm", tmp_path / "policy", environment="CartPole-v1")
    assert exported.read_bytes() == Path(Record(tmp_path).scores()[-1].file).read_bytes()

"""Actors of the real TorchRL as portable files."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from tensordict.nn import NormalParamExtractor, TensorDictModule
from torch import nn
from torchrl.data import OneHot
from torchrl.modules import MLP, ConvNet, OneHotCategorical, ProbabilisticActor, QValueActor, TanhNormal

from muster import torchrl
from muster.exporting.errors import ExportError, ParityError
from muster.exporting.network import Normalise
from muster.exporting.played_observations import play_observations
from muster.exporting.snapshot import Snapshot
from tests.training.environments import SIDE, Pictures
from tests.training.mutations import other_activation, turned, untransposed, without_statistics


def drawn(actor: Any) -> Any:
    torch.manual_seed(1)
    for parameter in actor.parameters():
        parameter.data = torch.randn_like(parameter) * 0.5
    return actor


def categorical() -> Any:
    network = TensorDictModule(MLP(4, 2, num_cells=[32, 32], activation_class=nn.Tanh), ["observation"], ["logits"])
    return ProbabilisticActor(network, ["logits"], distribution_class=OneHotCategorical)


def values() -> Any:
    return QValueActor(MLP(4, 2, num_cells=[32], activation_class=nn.ReLU), in_keys=["observation"], spec=OneHot(2))


def squashed() -> Any:
    layers = nn.Sequential(MLP(3, 2, num_cells=[32, 32], activation_class=nn.Tanh), NormalParamExtractor())
    network = TensorDictModule(layers, ["observation"], ["loc", "scale"])
    bounds = {"low": torch.tensor([-2.0]), "high": torch.tensor([2.0])}
    return ProbabilisticActor(network, ["loc", "scale"], distribution_class=TanhNormal, distribution_kwargs=bounds)


@pytest.mark.parametrize("is_normalised", [False, True])
@pytest.mark.parametrize(("make", "name"), [(categorical, "CartPole-v1"), (values, "CartPole-v1"), (squashed, "Pendulum-v1")])
def test_an_exported_actor_acts_as_the_actor_itself(make: Any, name: str, is_normalised: bool, tmp_path: Path) -> None:
    actor, environment = drawn(make()), gymnasium.make(name)
    observations = play_observations(environment)
    mean = np.full_like(observations[0], 0.1)
    normalise = Normalise(mean, mean * 20, clip=1.5, epsilon=1e-8) if is_normalised else None

    def taken_of(actor: Any, normalise: Normalise | None = normalise) -> Snapshot:
        spaces = (environment.observation_space, environment.action_space)
        return torchrl.snapshot(actor, *spaces, observations, normalise=normalise)

    taken = taken_of(actor)
    written = tmp_path / f"policy{taken.suffix}"
    taken.write(written)
    assert written.suffix == (".onnx" if is_normalised else ".safetensors")
    for changed in (taken_of(drawn_otherwise(make())), *((taken_of(actor, None),) if is_normalised else ())):
        with pytest.raises(ParityError, match=r"of 1000 observations"):
            Snapshot(changed.network, taken.reference).write(tmp_path / f"other{changed.suffix}")


def seeing() -> Any:
    """Makes an actor for images of 36 by 36, as ToTensorImage gives them."""
    network = nn.Sequential(ConvNet(in_features=3, num_cells=[8, 8], kernel_sizes=[8, 3], strides=[4, 2]), MLP(72, 4, num_cells=[16]))
    return QValueActor(network, in_keys=["observation"], spec=OneHot(4))


@pytest.mark.parametrize("is_normalised", [False, True])
def test_an_exported_actor_of_images_acts_as_the_actor_itself(is_normalised: bool, tmp_path: Path) -> None:
    actor, environment = drawn(seeing()), Pictures()
    observations = play_observations(environment)
    channels = np.array([0.1, 0.5, 0.7]).reshape(3, 1, 1)
    normalise = Normalise(channels + np.zeros((3, SIDE, SIDE)), channels * np.ones((3, SIDE, SIDE)), clip=10, epsilon=1e-8)

    spaces = (environment.observation_space, environment.action_space)
    taken = torchrl.snapshot(actor, *spaces, observations, to_tensor_image=True, normalise=normalise if is_normalised else None)
    taken.write(tmp_path / "policy.onnx")
    assert len(set(taken.reference.actions.tolist())) > 1
    for mutate in (other_activation, turned, untransposed, *((without_statistics,) if is_normalised else ())):
        with pytest.raises(ParityError, match=r"of 1000 observations: .* the first layer that differs is "):
            Snapshot(mutate(taken.network), taken.reference).write(tmp_path / "mutant.onnx")
    with pytest.raises(ExportError, match=r"to_tensor_image: expected observations \[height, width, channels\], got Box"):
        torchrl.snapshot(actor, gymnasium.make("CartPole-v1").observation_space, spaces[1], observations, to_tensor_image=True)


def drawn_otherwise(actor: Any) -> Any:
    torch.manual_seed(2)
    for parameter in actor.parameters():
        parameter.data = torch.randn_like(parameter)
    return actor


def test_an_actor_without_a_network_of_known_layers_is_named() -> None:
    environment = gymnasium.make("CartPole-v1")
    network = TensorDictModule(nn.GRUCell(4, 2), ["observation"], ["logits"])
    actor = ProbabilisticActor(network, ["logits"], distribution_class=OneHotCategorical)
    with pytest.raises(ExportError, match=r"torch\.nn\.modules\.rnn\.GRUCell, which is not known"):
        torchrl.snapshot(actor, environment.observation_space, environment.action_space, play_observations(environment))

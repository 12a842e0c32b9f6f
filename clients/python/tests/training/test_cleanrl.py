"""Agents with the layout of CleanRL's scripts, in the real PyTorch."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.wrappers import ClipAction, NormalizeObservation, TransformObservation
from torch import nn

from muster import cleanrl
from muster.exporting.errors import ExportError, MissingNormalisation, ParityError
from muster.exporting.played_observations import play_observations
from muster.exporting.runner_policies import load_runner_policy
from muster.exporting.snapshot import Snapshot
from tests.training.environments import Pictures
from tests.training.mutations import other_activation, turned, without_statistics


def drawn(module: nn.Module) -> nn.Module:
    torch.manual_seed(1)
    for parameter in module.parameters():
        parameter.data = torch.randn_like(parameter) * 0.3
    return module


def perceptron(inputs: int, outputs: int, activation: Any = nn.Tanh) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, 64), activation(), nn.Linear(64, 64), activation(), nn.Linear(64, outputs))


class Discrete(nn.Module):
    """As in ppo.py."""

    def __init__(self) -> None:
        super().__init__()
        self.critic, self.actor = perceptron(4, 1), perceptron(4, 2)


class Continuous(nn.Module):
    """As in ppo_continuous_action.py."""

    def __init__(self) -> None:
        super().__init__()
        self.critic, self.actor_mean = perceptron(3, 1), perceptron(3, 1)
        self.actor_logstd = nn.Parameter(torch.zeros(1, 1))


class Values(nn.Module):
    """As in dqn.py."""

    def __init__(self) -> None:
        super().__init__()
        self.network = perceptron(4, 2, nn.ReLU)


class Squashed(nn.Module):
    """As in sac_continuous_action.py."""

    def __init__(self, scale: float = 2.0) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(3, 256), nn.Linear(256, 256)
        self.fc_mean, self.fc_logstd = nn.Linear(256, 1), nn.Linear(256, 1)
        self.register_buffer("action_scale", torch.full((1, 1), scale))
        self.register_buffer("action_bias", torch.zeros(1, 1))

    def mean_action(self, x: torch.Tensor) -> torch.Tensor:
        hidden = torch.relu(self.fc2(torch.relu(self.fc1(x))))
        return torch.tanh(self.fc_mean(hidden)) * self.action_scale + self.action_bias


class Seen(nn.Module):
    """As in ppo_atari.py, for pictures of 36 by 36 with 4 channels in front."""

    def __init__(self) -> None:
        super().__init__()
        convolutions = [nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(), nn.Conv2d(64, 64, 3, 1), nn.ReLU()]
        self.network = nn.Sequential(*convolutions, nn.Flatten(), nn.Linear(64, 512), nn.ReLU())
        self.actor, self.critic = nn.Linear(512, 4), nn.Linear(512, 1)


def channels_first() -> Any:
    space = gymnasium.spaces.Box(0, 255, (4, 36, 36), np.uint8)
    return TransformObservation(Pictures(4), lambda image: np.moveaxis(image, -1, 0), space)


CASES = [
    (Discrete, lambda: gymnasium.make("CartPole-v1"), lambda agent, x: agent.actor(x).argmax(1)),
    (Values, lambda: gymnasium.make("CartPole-v1"), lambda agent, x: agent.network(x).argmax(1)),
    (Squashed, lambda: gymnasium.make("Pendulum-v1"), lambda agent, x: agent.mean_action(x)),
    (Seen, channels_first, lambda agent, x: agent.actor(agent.network(x / 255)).argmax(1)),
]


@pytest.mark.parametrize(("kind", "environment", "act"), CASES, ids=[case[0].__name__ for case in CASES])
def test_an_agent_loaded_from_its_saved_file_acts_as_its_own_code_does(kind: Any, environment: Any, act: Any, tmp_path: Path) -> None:
    agent, player = drawn(kind()), environment()
    torch.save(agent.state_dict(), tmp_path / "agent.cleanrl_model")
    written = cleanrl.export(tmp_path / "agent.cleanrl_model", tmp_path / "policy", environment=player)
    policy = load_runner_policy(written, player.observation_space, player.action_space)
    observation, _ = player.reset(seed=7)
    for _ in range(50):
        with torch.no_grad():
            expected = act(agent, torch.as_tensor(observation[np.newaxis], dtype=torch.float32)).numpy()[0]
        played = policy.act(observation)
        assert np.allclose(played, expected, atol=1e-4)
        observation, _, terminated, truncated, _ = player.step(played)
        if terminated or truncated:
            observation, _ = player.reset()


def test_an_agent_that_was_trained_on_normalised_observations_needs_their_statistics(tmp_path: Path) -> None:
    agent = drawn(Continuous())
    with pytest.raises(MissingNormalisation, match="ppo_continuous_action trains on normalised observations"):
        cleanrl.export(agent, tmp_path / "policy", environment="Pendulum-v1")
    training = NormalizeObservation(ClipAction(gymnasium.make("Pendulum-v1")))
    training.reset(seed=1)
    for _ in range(100):
        training.step(training.action_space.sample())
    written = cleanrl.export(agent, tmp_path / "policy", environment="Pendulum-v1", normalise=training)
    training.update_running_mean = False
    player = gymnasium.make("Pendulum-v1")
    policy = load_runner_policy(written, player.observation_space, player.action_space)
    observation, _ = player.reset(seed=7)
    normalised = (observation - training.obs_rms.mean) / np.sqrt(training.obs_rms.var + training.epsilon)
    with torch.no_grad():
        mean = agent.actor_mean(torch.as_tensor(normalised.clip(-10, 10)[np.newaxis], dtype=torch.float32)).numpy()[0]
    assert np.allclose(policy.act(observation), mean.clip(-2, 2), atol=1e-4)
    assert cleanrl.export(agent, tmp_path / "bare", environment="Pendulum-v1", normalise="none").suffix == ".safetensors"


def test_an_agent_of_normalised_images_is_exported_and_a_wrong_export_is_caught(tmp_path: Path) -> None:
    agent, training = drawn(Seen()), NormalizeObservation(channels_first())
    for name, parameter in agent.named_parameters():
        if name.endswith("bias"):
            # Normalised images divided by 255 are small: biases alone would decide.
            parameter.data.zero_()
    training.reset(seed=1)
    for _ in range(30):
        _, _, terminated, _, _ = training.step(training.action_space.sample())
        if terminated:
            training.reset()
    player = channels_first()
    seen = play_observations(player)
    taken = cleanrl.snapshot(agent, player, seen, normalise=training)
    taken.write(tmp_path / "policy.onnx")
    policy = load_runner_policy(tmp_path / "policy.onnx", player.observation_space, player.action_space)
    normalised = (np.stack(seen) - training.obs_rms.mean) / np.sqrt(training.obs_rms.var + training.epsilon)
    with torch.no_grad():
        logits = agent.actor(agent.network(torch.as_tensor(normalised.clip(-10, 10), dtype=torch.float32) / 255))
    assert len({int(choice) for choice in logits.argmax(1)}) > 1
    greatest = logits.abs().max().item()
    for observation, given in zip(seen, logits.numpy(), strict=True):
        assert given.max() - given[policy.act(observation)] < 1e-4 * (1 + greatest)
    for mutate in (without_statistics, other_activation, turned):
        with pytest.raises(ParityError, match=r"of 1000 observations: .* the first layer that differs is "):
            Snapshot(mutate(taken.network), taken.reference).write(tmp_path / "mutant.onnx")


def test_a_mismatched_agent_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"the state dict has 0\.weight, .*; expected the layout of ppo"):
        cleanrl.export(perceptron(4, 2), tmp_path / "policy", environment="CartPole-v1")
    with pytest.raises(ExportError, match=r"scales its actions by \[\[3\.0\]\], .* needs \[2\.0\]"):
        cleanrl.export(Squashed(3.0), tmp_path / "policy", environment="Pendulum-v1")
    with pytest.raises(ExportError, match=r"does not take the environment's observations, \(6,\) each"):
        cleanrl.export(drawn(Discrete()), tmp_path / "policy", environment="Acrobot-v1")
    assert list(tmp_path.iterdir()) == []

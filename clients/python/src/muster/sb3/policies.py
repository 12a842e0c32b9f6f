"""Reads the networks of Stable-Baselines3's own policies: PPO, A2C, DQN, SAC, TD3, with MlpPolicy, CnnPolicy and MultiInputPolicy."""

from dataclasses import replace
from typing import Any

import numpy as np

from muster.exporting.errors import ExportError
from muster.exporting.network import Activation, Array, Layer, Network, Part
from muster.exporting.torch_layers import HOW, read_layers
from muster.sb3.observations import ObservationPath

KNOWN = "PPO, A2C, DQN, SAC and TD3 with MlpPolicy, CnnPolicy and MultiInputPolicy"


def read_network(policy: Any, path: ObservationPath) -> Network:
    """Returns the computation of a policy's best action as data. Weights are copied.

    Raises ExportError naming the unknown class or layer, and how it can be exported.
    """
    from stable_baselines3.common.policies import ActorCriticPolicy
    from stable_baselines3.dqn.policies import DQNPolicy
    from stable_baselines3.sac.policies import SACPolicy
    from stable_baselines3.td3.policies import TD3Policy

    if not type(policy).__module__.startswith("stable_baselines3."):
        raise ExportError(f"the policy is a {_name_class(policy)}, a custom class; known are those of {KNOWN}. {HOW}")
    match policy:
        case ActorCriticPolicy():
            return _read_actor_critic(policy, path)
        case DQNPolicy():
            layers = read_layers(policy.q_net.q_net, "q_net.q_net")
            return _make_network(policy, path, "q_net.features_extractor", layers, {"kind": "discrete"})
        case SACPolicy():
            layers = (*read_layers(policy.actor.latent_pi, "actor.latent_pi"), *read_layers(policy.actor.mu, "actor.mu"))
            return _make_network(policy, path, "actor.features_extractor", layers, {"kind": "continuous", "squash": "tanh"})
        case TD3Policy():
            return _read_deterministic(policy, path)
        case _:
            raise ExportError(f"the policy is a {_name_class(policy)}; known are those of {KNOWN}. {HOW}")


def find_logits_module(policy: Any) -> str | None:
    """Returns the name of the module whose outputs decide between discrete actions; None for continuous actions."""
    from gymnasium import spaces

    if isinstance(policy.action_space, spaces.Box):
        return None
    return "q_net.q_net" if hasattr(policy, "q_net") else "action_net"


def get_extractor_name(policy: Any) -> str:
    """Returns the name of the module that reads the actor's observations."""
    if hasattr(policy, "q_net"):
        return "q_net.features_extractor"
    if hasattr(policy, "actor"):
        return "actor.features_extractor"
    return "features_extractor" if policy.share_features_extractor else "pi_features_extractor"


def _read_actor_critic(policy: Any, path: ObservationPath) -> Network:
    from gymnasium import spaces
    from stable_baselines3.common.torch_layers import MlpExtractor

    if type(policy.mlp_extractor) is not MlpExtractor:
        raise ExportError(f"mlp_extractor is a {_name_class(policy.mlp_extractor)}, which is not known. {HOW}")
    action = {"kind": "discrete"}
    if isinstance(policy.action_space, spaces.Box):
        action = {"kind": "continuous", "squash": "tanh" if policy.squash_output else "clip"}
    elif not isinstance(policy.action_space, (spaces.Discrete, spaces.MultiDiscrete)):
        raise ExportError(f"actions of {policy.action_space} cannot be exported; expected Discrete, MultiDiscrete or Box. {HOW}")
    layers = (*read_layers(policy.mlp_extractor.policy_net, "mlp_extractor.policy_net"), *read_layers(policy.action_net, "action_net"))
    network = _make_network(policy, path, get_extractor_name(policy), layers, action)
    return replace(network, log_std=_get_log_std(policy))


def _get_log_std(policy: Any) -> Array | None:
    """Returns the log standard deviations of a normal distribution that does not depend on the state."""
    log_std = getattr(policy, "log_std", None)
    if log_std is None or policy.use_sde:
        return None
    copied: Array = log_std.detach().cpu().float().numpy().copy()
    return copied


def _read_deterministic(policy: Any, path: ObservationPath) -> Network:
    layers = read_layers(policy.actor.mu, "actor.mu")
    if not (isinstance(layers[-1], Activation) and layers[-1].kind == "tanh"):
        raise ExportError(f"actor.mu ends with {type(layers[-1]).__name__}; expected Tanh, as TD3 has it. {HOW}")
    # The squash of the action is the tanh that ends the layers.
    return _make_network(policy, path, "actor.features_extractor", layers[:-1], {"kind": "continuous", "squash": "tanh"})


def _make_network(policy: Any, path: ObservationPath, extractor: str, layers: tuple[Layer, ...], action: dict[str, str]) -> Network:
    parts = _read_extractor(policy.get_submodule(extractor), extractor, path.parts())
    return Network(parts=parts, layers=layers, action=action, bytes=path.is_image)


def _read_extractor(extractor: Any, name: str, parts: dict[str, Part]) -> tuple[Part, ...]:
    from stable_baselines3.common.torch_layers import CombinedExtractor

    if type(extractor) is not CombinedExtractor:
        if list(parts) != [""]:
            raise ExportError(f"{name} is a {_name_class(extractor)}, which handles dictionaries in its own way. {HOW}")
        return (replace(parts[""], layers=_read_extractor_layers(extractor, name)),)
    if list(extractor.extractors) != list(parts):
        taken = list(extractor.extractors)
        raise ExportError(f"the observation's keys come as {list(parts)}, the policy takes them as {taken}: sort them alike")
    return tuple(
        replace(part, layers=_read_extractor_layers(extractor.extractors[key], f"{name}.extractors.{key}")) for key, part in parts.items()
    )


def _read_extractor_layers(extractor: Any, name: str) -> tuple[Layer, ...]:
    from stable_baselines3.common.torch_layers import FlattenExtractor, NatureCNN

    if type(extractor) is NatureCNN:
        return (*read_layers(extractor.cnn, f"{name}.cnn"), *read_layers(extractor.linear, f"{name}.linear"))
    if type(extractor) is FlattenExtractor:
        return read_layers(extractor.flatten, f"{name}.flatten")
    return read_layers(extractor, name)


def _name_class(thing: Any) -> str:
    return f"{type(thing).__module__}.{type(thing).__qualname__}"


def split_rows(observations: Any, indices: Any) -> list[Any]:
    """Splits a batch into single observations, as an environment gives them."""
    if isinstance(observations, dict):
        return [{name: batch[index] for name, batch in observations.items()} for index in indices]
    rows = np.asarray(observations)
    return [rows[index] for index in indices]

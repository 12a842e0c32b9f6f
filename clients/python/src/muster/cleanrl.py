"""Exports agents of CleanRL's scripts as portable files, by the layout that the scripts share.

from muster import cleanrl

cleanrl.export("runs/…/ppo.cleanrl_model", "policy", environment="CartPole-v1")
evaluator.checkpoint(global_step, lambda: cleanrl.snapshot(agent, environment, observations))
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from muster.exporting.errors import ExportError, MissingNormalisation
from muster.exporting.network import Divide, Normalise, Step
from muster.exporting.played_observations import play_observations
from muster.exporting.snapshot import Snapshot
from muster.exporting.torch_policy import Squash, torch_snapshot
from muster_client.arguments import suggests_keywords

CLIP = 10.0
"""The limit at which the scripts clip normalised observations."""
HOW = "expected the layout of ppo, ppo_continuous_action, ppo_atari, dqn, dqn_atari, sac_continuous_action, td3 or ddpg"


@suggests_keywords
def export(agent: Any, path: str | Path, *, environment: Any, normalise: Any = None, activation: str | None = None) -> Path:
    """Writes an agent's policy as one file, after 1,000 observations on which it acts as the agent's network does.

    @param agent: the agent, its state dict, or the path of what `torch.save` wrote of that (`.cleanrl_model`): tensors alone are read.
    @param path: of the file, without an ending.
    @param environment: name of a registered environment, or a gymnasium.Env as the suite makes it, not normalised.
    @param normalise: the environment of the training, wrapped in NormalizeObservation; a pair of mean and variance; or "none".
    @param activation: tanh or relu, of a state dict; the scripts' own when left out.
    Raises MissingNormalisation for an agent of ppo_continuous_action without statistics, and ExportError for another layout.
    """
    import gymnasium

    player = gymnasium.make(environment) if isinstance(environment, str) else environment
    try:
        seen = play_observations(player)
        taken = snapshot(agent, player, seen, normalise=normalise, activation=activation)
    finally:
        if player is not environment:
            player.close()
    written = Path(path).with_name(Path(path).name + taken.suffix)
    taken.write(written)
    return written


@suggests_keywords
def snapshot(
    agent: Any, environment: Any, observations: Sequence[Any], *, normalise: Any = None, activation: str | None = None
) -> Snapshot:
    """Takes a snapshot of an agent. Parameters are those of `export`."""
    state = _get_state(agent)
    space = getattr(environment, "single_observation_space", environment.observation_space)
    actions = getattr(environment, "single_action_space", environment.action_space)
    module, squash, log_std, divide = _read_network(state, activation, actions)
    statistics = _choose_statistics(normalise, needs="actor_mean.0.weight" in state)
    steps: list[Step] = [] if statistics is None else [statistics]
    steps += [] if divide is None else [Divide(divide)]
    return torch_snapshot(module, space, actions, observations, squash=squash, log_std=log_std, steps=steps)


def _get_state(agent: Any) -> Mapping[str, Any]:
    import torch

    if isinstance(agent, (str, Path)):
        try:
            # Only tensors and plain values are read, so no pickled code is run.
            agent = torch.load(agent, map_location="cpu", weights_only=True)
        except Exception as error:
            raise ExportError(f"{agent} cannot be read ({error}); expected a state dict that torch.save wrote") from error
    state = agent if isinstance(agent, Mapping) else agent.state_dict()
    if not state or not all(isinstance(value, torch.Tensor) for value in state.values()):
        raise ExportError(f"expected a state dict of tensors, got {type(agent).__name__}")
    return state


def _read_network(state: Mapping[str, Any], activation: str | None, actions: Any) -> tuple[Any, Squash, Any, float | None]:
    """Returns the layers from observation to output, how actions are squashed, log standard deviations, and the divisor of bytes."""
    if "actor_mean.0.weight" in state:
        return _list_layers(state, ["actor_mean"], activation or "tanh"), "clip", state.get("actor_logstd"), None
    for last in ("fc_mean", "fc_mu"):
        if f"{last}.weight" in state:
            _check_scale(state, actions)
            return _list_layers(state, ["fc1", "fc2", last], activation or "relu"), "tanh", None, None
    is_image = "network.0.weight" in state and state["network.0.weight"].dim() == 4
    if is_image:
        heads = [name for name in ("network", "actor") if f"{name}.weight" in state or f"{name}.0.weight" in state]
        return _list_layers(state, heads, activation or "relu"), "clip", None, 255.0
    if "actor.0.weight" in state:
        return _list_layers(state, ["actor"], activation or "tanh"), "clip", None, None
    if "network.0.weight" in state:
        return _list_layers(state, ["network"], activation or "relu"), "clip", None, None
    raise ExportError(f"the state dict has {', '.join(list(state)[:6])}, …; {HOW}")


def _list_layers(state: Mapping[str, Any], prefixes: Sequence[str], activation: str) -> Any:
    """Lists the linear layers and convolutions below these names in their order, with the activation between them."""
    from torch import nn

    if activation not in ("tanh", "relu"):
        raise ExportError(f"activation: expected tanh or relu, got {activation!r}")
    names = [name.removesuffix(".weight") for name in state if name.endswith(".weight")]
    names = [name for prefix in prefixes for name in names if name == prefix or name.startswith(f"{prefix}.")]
    convolutions = [name for name in names if state[f"{name}.weight"].dim() == 4]
    modules: list[Any] = []
    for place, name in enumerate(names):
        weight, bias = state[f"{name}.weight"], state[f"{name}.bias"]
        if place > 0:
            modules.append(nn.Tanh() if activation == "tanh" else nn.ReLU())
        if weight.dim() == 2 and convolutions and names[place - 1] == convolutions[-1]:
            modules.append(nn.Flatten())
        module: Any = nn.Linear(weight.shape[1], weight.shape[0])
        if weight.dim() == 4:
            module = nn.Conv2d(
                weight.shape[1], weight.shape[0], tuple(weight.shape[2:]), _choose_stride(len(convolutions), convolutions.index(name))
            )
        module.load_state_dict({"weight": weight, "bias": bias})
        modules.append(module)
    return nn.Sequential(*modules)


def _choose_stride(count: int, place: int) -> int:
    """Returns the stride of one of the three convolutions of Mnih et al. 2015, which all scripts for Atari have."""
    if count != 3:
        raise ExportError(f"the state dict has {count} convolutions, expected 3 as the scripts for Atari have; {HOW}")
    return (4, 2, 1)[place]


def _check_scale(state: Mapping[str, Any], actions: Any) -> None:
    scale = state.get("action_scale")
    expected = (actions.high - actions.low) / 2
    if scale is not None and not np.allclose(scale.numpy().reshape(-1), expected.reshape(-1)):
        raise ExportError(
            f"the agent scales its actions by {scale.numpy().tolist()}, the environment's {actions} needs {expected.tolist()}"
        )


def _choose_statistics(given: Any, needs: bool) -> Normalise | None:
    if isinstance(given, str) and given == "none":
        return None
    if given is None:
        if needs:
            raise MissingNormalisation(
                "ppo_continuous_action trains on normalised observations, and their statistics were not given; the state dict has "
                'none. Give normalise=environment, the one of the training, or a pair of mean and variance; or say normalise="none"'
            )
        return None
    if isinstance(given, tuple):
        mean, variance = given
        return Normalise(np.asarray(mean, np.float64), np.asarray(variance, np.float64), CLIP, 1e-8)
    found = given
    while not hasattr(found, "obs_rms"):
        if not hasattr(found, "env"):
            raise ExportError(f"normalise: {given} has no wrapper NormalizeObservation; give the environment of the training")
        found = found.env
    return Normalise(np.array(found.obs_rms.mean), np.array(found.obs_rms.var), CLIP, float(found.epsilon))

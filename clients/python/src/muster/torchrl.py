"""Snapshots of TorchRL's actors.

from muster import torchrl

evaluator.checkpoint(step, lambda: torchrl.snapshot(actor, env.observation_space, env.action_space, observations))
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from muster.exporting.errors import ExportError
from muster.exporting.network import Arrange, Array, Divide, Normalise, Step
from muster.exporting.snapshot import Snapshot
from muster.exporting.torch_layers import HOW
from muster.exporting.torch_policy import Squash, preprocess, torch_snapshot
from muster_client.arguments import suggests_keywords


@suggests_keywords
def snapshot(
    actor: Any,
    observation_space: Any,
    action_space: Any,
    observations: Sequence[Any],
    *,
    observation_key: str = "observation",
    to_tensor_image: bool = False,
    normalise: Normalise | None = None,
) -> Snapshot:
    """Copies an actor's weights, and the actions that it takes itself in deterministic exploration.

    @param actor: a ProbabilisticActor whose distribution is Categorical, OneHotCategorical, Normal or TanhNormal, or a QValueActor, over a
        TensorDictModule of known layers, such as ConvNet and MLP; NormalParamExtractor may follow.
    @param observation_space: gymnasium's, as the suite's environment has it; likewise the action space.
    @param observations: single ones, as the environment gives them.
    @param to_tensor_image: whether the training had the transform ToTensorImage: bytes [height, width, channels] in the environment,
        numbers [channels, height, width] from 0 to 1 for the actor.
    @param normalise: the normalisation of a transform such as ObservationNorm, which an actor does not contain.
    Raises ExportError, which names the unsupported part.
    """
    layers, takes_half = _read_network(actor)
    if takes_half and not _is_continuous(action_space):
        raise ExportError(f"the actor gives the spread of a distribution, and the actions are of {action_space}; expected a Box")
    squash = _squash(actor, action_space)
    steps: list[Step] = _list_image_steps(observation_space) if to_tensor_image else []
    steps += [] if normalise is None else [normalise]
    taken = torch_snapshot(layers, observation_space, action_space, observations, squash=squash, steps=steps)
    rows = preprocess(np.stack([np.asarray(observation) for observation in observations]), steps)
    actions = _actions(actor, rows, action_space, observation_key)
    return replace(taken, reference=replace(taken.reference, actions=actions))


def _read_network(actor: Any) -> tuple[Any, bool]:
    """Returns the layers that compute logits or means, and whether the module also computes spreads."""
    from tensordict.nn import NormalParamExtractor, TensorDictModule
    from torch import nn

    inner = [one for one in actor.modules() if type(one) is TensorDictModule]
    if len(inner) != 1:
        raise ExportError(f"the actor has {len(inner)} TensorDictModules, expected one with the network. {HOW}")
    flat = _flatten(inner[0].module)
    if not isinstance(flat[-1], NormalParamExtractor):
        return nn.Sequential(*flat), False
    last = flat[-2] if len(flat) > 1 else None
    if not isinstance(last, nn.Linear):
        raise ExportError(f"NormalParamExtractor follows {type(last).__name__}, expected a Linear. {HOW}")
    mean = nn.Linear(last.in_features, last.out_features // 2, bias=last.bias is not None)
    # The first half of the outputs is the mean.
    mean.load_state_dict({name: value[: mean.out_features] for name, value in last.state_dict().items()})
    return nn.Sequential(*flat[:-2], mean), True


def _flatten(module: Any) -> list[Any]:
    from torch import nn
    from torchrl.modules.models.utils import SquashDims

    if isinstance(module, SquashDims):
        # The end of a ConvNet flattens all dimensions of an image.
        return [nn.Flatten()]
    if not isinstance(module, nn.Sequential):
        return [module]
    return [layer for child in module for layer in _flatten(child)]


def _list_image_steps(space: Any) -> list[Step]:
    if len(space.shape or ()) != 3:
        raise ExportError(f"to_tensor_image: expected observations [height, width, channels], got {space}")
    height, width, channels = space.shape
    return [Arrange((2, 0, 1), (channels, height, width)), Divide(255.0)]


def _squash(actor: Any, space: Any) -> Squash:
    from torchrl.modules import TanhNormal

    kinds = [one.distribution_class for one in actor.modules() if hasattr(one, "distribution_class")]
    return "tanh" if _is_continuous(space) and TanhNormal in kinds else "clip"


def _is_continuous(space: Any) -> bool:
    from gymnasium import spaces

    return isinstance(space, spaces.Box)


def _actions(actor: Any, rows: Array, space: Any, key: str) -> Array:
    """Returns the actor's own best actions."""
    import torch
    from tensordict import TensorDict
    from torchrl.envs.utils import ExplorationType, set_exploration_type

    given = TensorDict({key: torch.as_tensor(rows, dtype=torch.float32)}, batch_size=[len(rows)])
    with torch.no_grad(), set_exploration_type(ExplorationType.DETERMINISTIC):
        actions: Array = actor(given)["action"].cpu().numpy()
    if _is_continuous(space):
        return actions.reshape(-1, *space.shape)
    return (actions.argmax(-1) if actions.ndim > 1 else actions) + int(space.start)

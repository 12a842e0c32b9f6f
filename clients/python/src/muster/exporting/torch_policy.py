"""Takes a snapshot of a policy that is a PyTorch module."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np

from muster.exporting.errors import ExportError
from muster.exporting.network import Arrange, Array, Divide, Network, Normalise, Part, Step
from muster.exporting.onnx_graph import PREPROCESSED
from muster.exporting.parity import TRACED, Reference
from muster.exporting.snapshot import Snapshot
from muster.exporting.torch_layers import read_layers

Squash = Literal["clip", "tanh", "none"]
"""The function that brings the mean of a continuous action into the action space's bounds."""


def torch_snapshot(
    module: Any,
    observation_space: Any,
    action_space: Any,
    observations: Sequence[Any],
    *,
    squash: Squash = "clip",
    log_std: Any = None,
    steps: Sequence[Step] = (),
) -> Snapshot:
    """Copies a module's weights, and what it does with some observations; the training may go on.

    @param module: a torch.nn.Sequential of known layers, or one of them: from observations [n, …] in float32 to logits of a Discrete or
        MultiDiscrete action space, or to the means of a Box, [n, out].
    @param observations: single ones, as the environment gives them, on which the exported policy is compared: 1,000 are enough.
    @param squash: of a Box.
    @param log_std: tensor [out] or [1, out]; for actions that are drawn.
    @param steps: what happens to observations before they go into the module, in order.
    Raises ExportError naming the layer that is not known, or the space that cannot be exported.
    """
    _assert_box(observation_space)
    shape: tuple[int, ...] = observation_space.shape
    layers = read_layers(module, "")
    normalises = any(isinstance(step, Normalise) for step in steps)
    network = Network(
        parts=(Part("", shape, tuple(steps), ()),),
        layers=layers,
        action=describe_action(action_space, squash),
        bytes=observation_space.dtype == np.uint8 and len(shape) >= 3 and not normalises,
        log_std=None if log_std is None else log_std.detach().cpu().float().numpy().reshape(-1).copy(),
    )
    rows = np.stack([np.asarray(observation) for observation in observations])
    taken = preprocess(rows, steps)
    with _trace_layers(module, layers) as traces:
        outputs = _compute_outputs(module, taken)
    traces[PREPROCESSED] = taken[:TRACED]
    actions, logits = choose_best_actions(outputs, action_space, squash)
    return Snapshot(network, Reference(observation_space, action_space, list(rows), actions, logits, traces))


def _assert_box(observation_space: Any) -> None:
    from gymnasium import spaces

    if not isinstance(observation_space, spaces.Box):
        raise ExportError(
            f"observation_space: expected a Box, got {observation_space}: flatten it with gymnasium.wrappers.FlattenObservation"
        )


def describe_action(space: Any, squash: Squash) -> dict[str, str]:
    """Returns the meaning of the outputs. Raises ExportError for a space that cannot be exported."""
    from gymnasium import spaces

    if isinstance(space, (spaces.Discrete, spaces.MultiDiscrete)):
        return {"kind": "discrete"}
    if isinstance(space, spaces.Box):
        return {"kind": "continuous", "squash": squash}
    raise ExportError(f"action_space: expected Discrete, MultiDiscrete or Box, got {space}")


def preprocess(rows: Array, steps: Sequence[Step]) -> Array:
    """Returns the module's input for observations [n, …], in float32."""
    values = rows
    for step in steps:
        match step:
            case Normalise(mean, variance, clip, epsilon):
                scaled = (values.astype(np.float64) - mean) / np.sqrt(variance + epsilon)
                values = scaled.clip(-clip, clip).astype(np.float32)
            case Arrange(order, shape):
                values = values.transpose(0, *(axis + 1 for axis in order)).reshape(len(values), *shape)
            case Divide(by):
                values = values.astype(np.float32) / np.float32(by)
    return values.astype(np.float32)


def _compute_outputs(module: Any, rows: Array) -> Array:
    import torch

    device = next((parameter.device for parameter in module.parameters()), torch.device("cpu"))
    was_training = module.training
    module.eval()
    try:
        with torch.no_grad():
            given: Array = module(torch.as_tensor(rows, device=device)).cpu().numpy()
    except RuntimeError as error:
        raise ExportError(f"the policy does not take the environment's observations, {rows.shape[1:]} each: {error}") from error
    finally:
        module.train(was_training)
    return given


def choose_best_actions(outputs: Array, space: Any, squash: Squash) -> tuple[Array, Array | None]:
    """Returns the best actions [n, …], and the logits if these decide."""
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        return outputs.argmax(1) + int(space.start), outputs
    if isinstance(space, spaces.MultiDiscrete):
        parts = np.split(outputs, np.cumsum(space.nvec.reshape(-1))[:-1], axis=1)
        chosen = np.stack([part.argmax(1) for part in parts], 1)
        return chosen.reshape(-1, *space.shape) + space.start, outputs
    means = outputs.reshape(-1, *space.shape)
    if squash == "tanh":
        means = space.low + (np.tanh(means) + 1) / 2 * (space.high - space.low)
    return (means if squash == "none" else means.clip(space.low, space.high)), None


@contextmanager
def _trace_layers(module: Any, layers: Sequence[Any]) -> Iterator[dict[str, Array]]:
    """Collects the output of each layer while the module runs."""
    traces: dict[str, Array] = {}

    def keep(name: str) -> Any:
        def hook(_module: Any, _inputs: Any, output: Any) -> None:
            traces[name] = output[:TRACED].detach().cpu().numpy().copy()

        return hook

    hooks = [module.get_submodule(layer.name).register_forward_hook(keep(layer.name)) for layer in layers]
    try:
        yield traces
    finally:
        for one in hooks:
            one.remove()

"""Takes a snapshot of a policy of Stable-Baselines3."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from muster.exporting.network import Array, Network
from muster.exporting.onnx_graph import name_preprocessed
from muster.exporting.parity import TRACED, Reference
from muster.exporting.snapshot import Snapshot
from muster.sb3.observations import ObservationPath
from muster.sb3.policies import find_logits_module, get_extractor_name, read_network, split_rows


def take_snapshot(model: Any, path: ObservationPath, observations: Any, normaliser: Any | None) -> Snapshot:
    """@param observations: a batch as the environment gives it, [n, …] or a dictionary of such.
    @param normaliser: the VecNormalize whose statistics `path` has.
    """
    network = read_network(model.policy, path)
    taken = path.arrange(observations)
    taken = taken if normaliser is None else normaliser.normalize_obs(taken)
    count = len(next(iter(taken.values())) if isinstance(taken, dict) else taken)
    with _trace_layers(model.policy, network) as traces:
        actions, _ = model.policy.predict(taken, deterministic=True)
    logits = traces.pop("logits", None)
    reference = Reference(
        observation_space=path.environment_space,
        action_space=model.action_space,
        observations=split_rows(observations, range(count)),
        actions=np.asarray(actions),
        logits=logits,
        layers=traces,
    )
    return Snapshot(network, reference)


@contextmanager
def _trace_layers(policy: Any, network: Network) -> Iterator[dict[str, Array]]:
    """Collects the output of each layer, and the logits of all observations, while the policy runs."""
    traces: dict[str, Array] = {}
    hooks = []
    try:
        names = [layer.name for layer in (*(layer for part in network.parts for layer in part.layers), *network.layers)]
        for name in names:
            hooks.append(policy.get_submodule(name).register_forward_hook(_keep(traces, name, TRACED)))
        if (logits := find_logits_module(policy)) is not None:
            hooks.append(policy.get_submodule(logits).register_forward_hook(_keep(traces, "logits", None)))
        hooks.append(policy.get_submodule(get_extractor_name(policy)).register_forward_pre_hook(_keep_input(traces, network)))
        yield traces
    finally:
        for hook in hooks:
            hook.remove()


def _keep(traces: dict[str, Array], name: str, rows: int | None) -> Any:
    def keep(_module: Any, _inputs: Any, output: Any) -> None:
        traces[name] = output[:rows].detach().cpu().numpy().copy()

    return keep


def _keep_input(traces: dict[str, Array], network: Network) -> Any:
    def keep(_module: Any, inputs: Any) -> None:
        for part in network.parts:
            given = inputs[0][part.name] if part.name else inputs[0]
            traces[name_preprocessed(part)] = given[:TRACED].detach().cpu().numpy().copy()

    return keep

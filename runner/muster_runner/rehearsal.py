"""Plays a few episodes without a result, in the process from which sandboxes are forked.

The interpreter and the libraries compute some things at first use, and keep them. After a rehearsal the sandboxes share these; otherwise
each would compute them, in memory of its own.
"""

import importlib
import json
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from safetensors.numpy import save_file

from muster_runner.channel import Channel
from muster_runner.digest import compute_digest
from muster_runner.frames import Outgoing, encode
from muster_runner.policies.mlp import FORMAT
from muster_runner.prints import EpisodePrints
from muster_runner.session import Session

NAME = "MusterRehearsal-v0"
INPUTS, OUTPUTS, STEPS = 4, 2, 3
# After this many episodes the interpreter has specialised each instruction.
EPISODES = 16
# Modules that a session imports when they are needed, and that the rehearsal does not play. None of them imports a large library.
UNREHEARSED = ("muster_runner.blocks.vector", "muster_runner.policies.onnx_model")


class Corridor(gymnasium.Env[Any, Any]):
    """An environment that ends after three steps, whatever the actions."""

    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (INPUTS,), np.float32)
    action_space = gymnasium.spaces.Discrete(OUTPUTS)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:  # noqa: ARG002
        super().reset(seed=seed)
        self._left = STEPS
        return self.np_random.uniform(-1.0, 1.0, INPUTS).astype(np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:  # noqa: ARG002
        self._left -= 1
        return np.zeros(INPUTS, np.float32), 1.0, self._left == 0, False, {}


@dataclass
class Prompter(Channel):
    """A channel that replays requests, and collects the answers."""

    cues: list[bytes] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Does nothing, because it has no descriptors."""

    def send(self, frame: Outgoing) -> None:
        encode(frame)
        if frame["type"] == "refused":
            raise RuntimeError(f"the rehearsal was refused: {frame['message']}")
        self.answers.append(frame["type"])

    def send_all(self, frames: Iterable[Outgoing]) -> None:
        for frame in frames:
            self.send(frame)

    def arrived(self) -> list[bytes]:
        return []

    def wait(self) -> list[bytes]:
        cues, self.cues = self.cues, []
        self.ended = not cues
        return cues


def rehearse() -> None:
    """Runs a session from its first frame to its last: episodes one by one, then a block of them in lockstep.

    @raises RuntimeError when an episode does not complete.
    """
    for module in UNREHEARSED:
        importlib.import_module(module)
    gymnasium.register(NAME, entry_point=f"{__name__}:{Corridor.__name__}", max_episode_steps=2 * STEPS)
    try:
        with tempfile.TemporaryDirectory() as directory:
            prompter = Prompter(-1, -1, cues=_make_cues(_write_checkpoint(Path(directory))))
            Session(prompter, EpisodePrints()).run()
    finally:
        gymnasium.registry.pop(NAME, None)
    expected = ["ready", *["loaded", "begin", *["completed"] * EPISODES] * 2]
    if prompter.answers != expected:
        raise RuntimeError(f"the runner answered {prompter.answers[:4]} where {expected[:4]} was expected")


def _write_checkpoint(directory: Path) -> Path:
    path = directory / "rehearsal.safetensors"
    layers = {"out.weight": np.eye(OUTPUTS, INPUTS, dtype=np.float32), "out.bias": np.zeros(OUTPUTS, np.float32)}
    network = {"format": FORMAT, "layers": ["out"], "activation": "tanh", "action": {"kind": "discrete"}, "normalise": False}
    save_file(layers, path, {"muster": json.dumps(network)})
    return path


def _make_cues(checkpoint: Path) -> list[bytes]:
    policy = {"path": str(checkpoint), "digest": compute_digest(checkpoint)}
    tasks = [{"name": "task", "environment": {"entry": f"gymnasium:{NAME}", "kwargs": {}, "wrappers": []}}]
    play = {"episodes": [[index, 0, index, index] for index in range(EPISODES)]}
    batching = {"form": "lockstep", "width": EPISODES // 2, "episodes": EPISODES, "episodeSeconds": 60}
    load = {"policy": policy, "code": None, "tasks": tasks, "actions": "deterministic", "metrics": []}
    cues = [
        {"type": "load", "load": 1, **load},
        {"type": "play", "range": 1, **play},
        {"type": "load", "load": 2, **load, "batching": batching},
        {"type": "play", "range": 2, **play},
    ]
    return [json.dumps(cue).encode() for cue in cues]

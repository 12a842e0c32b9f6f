"""A policy that fits any environment and looks at nothing."""

from pathlib import Path
from typing import Any


class Anything:
    def __init__(self, action: Any) -> None:
        self.action = action

    def act(self, observation: Any) -> Any:  # noqa: ARG002
        return self.action


def make(*, observation_space: Any, action_space: Any, checkpoint_dir: Path, deterministic: bool) -> Anything:  # noqa: ARG001
    action_space.seed(0)
    return Anything(action_space.sample())

"""Makes a policy from a network's forward pass and the meaning of its outputs."""

from collections.abc import Callable
from typing import Any

from muster_runner.policies.action_head import ActionHead
from muster_runner.policies.policy import Array, Dice
from muster_runner.policies.recurrence import remembers_nothing
from muster_runner.random_state import seed_torch

# An observation of the environment → outputs [n] and log standard deviations [n], if the network has them.
Forward = Callable[[Any], tuple[Array, Array | None]]


class NetworkPolicy:
    def __init__(
        self,
        forward: Forward,
        head: ActionHead,
        dice: Dice,
        deterministic: bool,
        forget: Callable[[int], None] = remembers_nothing,
    ) -> None:
        self._forward = forward
        self._head = head
        self._dice = dice
        self._deterministic = deterministic
        self._forget = forget

    def reset(self, seed: int, /) -> None:
        seed_torch(seed)
        self._forget(0)
        if not self._deterministic:
            self._dice.reset(seed)

    def act(self, observation: Any, /) -> Any:
        output, log_std = self._forward(observation)
        return self._head(output, log_std)

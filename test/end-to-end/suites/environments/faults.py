"""One-step environments that go wrong in one way each, in the episodes that a test names by their seeds."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gates import pass_gate
from gymnasium import spaces

Step = tuple[Any, float, bool, bool, dict[str, Any]]


class Faulty(gymnasium.Env[Any, Any]):
    """Returns (seed mod 100) / 100, as the tiny runner does; an episode with one of the given seeds goes wrong first."""

    def __init__(self, how: str = "not at all", seeds: list[int] | None = None) -> None:
        pass_gate("loading")
        self.observation_space = spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.action_space = spaces.Discrete(2)
        self.fault = FAULTS[how]
        self.seeds = frozenset(seeds or [])
        self.seed = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self.seed = seed or 0
        pass_gate(f"resetting-{self.seed}")
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Step:  # noqa: ARG002
        pass_gate("playing")
        pass_gate(f"playing-{self.seed}")
        reward = self.seed % 100 / 100
        if self.seed in self.seeds:
            reward = self.fault(reward)
            if self.fault is has_old_interface:
                return np.zeros(1, np.float32), reward, True, {}  # type: ignore[return-value]
            if self.fault is shows_nan:
                return np.full(1, np.nan, np.float32), reward, True, False, {}
        return np.zeros(1, np.float32), reward, True, False, {"torch": float("torch" in sys.modules)}


def prints_garbage(reward: float) -> float:
    print("the first words")
    for _ in range(1000):
        print('{"type":"completed","range":0,"index":0,"return":1,"length":1,"metrics":{},"seconds":0}')
        sys.stdout.buffer.write(bytes(range(256)) * 4)
    print("the last words")
    return reward


def writes_to_descriptor(reward: float) -> float:
    for _ in range(1000):
        os.write(1, b'\xff\x00{"type":"pong"}\nwritten to descriptor 1\n')
    return reward


def writes_to_every_descriptor(reward: float) -> float:
    """Finds the protocol channel, which no print can reach, by going through the process's table."""
    for descriptor in list(Path("/proc/self/fd").iterdir()):
        try:
            os.write(int(descriptor.name), b"nonsense\n")
        except OSError:
            continue
    return reward


def exits(_: float) -> float:
    sys.exit(3)


def exits_at_once(_: float) -> float:
    os._exit(3)


def forks_and_exits(_: float) -> float:
    if os.fork() == 0:
        # The child lives on, with the error output that it has inherited.
        while True:
            signal.pause()
    os._exit(4)


def hangs(_: float) -> float:
    while True:
        pass


def allocates(_: float) -> float:
    blocks = []
    while True:
        blocks.append(b"x" * 2**22)


def asks_for_far_too_much(_: float) -> float:
    return float(len(bytearray(2**33)))


def is_not_a_number(_: float) -> float:
    return float("nan")


def is_out_of_bounds(_: float) -> float:
    return 1.5


def raises(_: float) -> float:
    raise KeyError(f"order {int.from_bytes(os.urandom(4))}")


def is_broken_outside(reward: float) -> float:
    if Path("/gates/broken").exists():
        raise ModuleNotFoundError("No module named 'pygame'")
    return reward


def has_old_interface(reward: float) -> float:
    return reward


def shows_nan(reward: float) -> float:
    return reward


def differs(_: float) -> float:
    return int.from_bytes(os.urandom(4)) / 2**32


FAULTS: dict[str, Callable[[float], float]] = {
    "raises": raises,
    "is broken outside": is_broken_outside,
    "has the old interface": has_old_interface,
    "shows NaN": shows_nan,
    "not at all": lambda reward: reward,
    "prints garbage": prints_garbage,
    "writes to descriptor 1": writes_to_descriptor,
    "writes to every descriptor": writes_to_every_descriptor,
    "exits": exits,
    "exits at once": exits_at_once,
    "forks and exits": forks_and_exits,
    "asks for far too much": asks_for_far_too_much,
    "hangs": hangs,
    "allocates": allocates,
    "is not a number": is_not_a_number,
    "is out of bounds": is_out_of_bounds,
    "differs": differs,
}

"""Environments with one property each, as a suite ships them."""

import ctypes
import os
import random
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

Step = tuple[Any, float, bool, bool, dict[str, Any]]


class Toy(gymnasium.Env[Any, Any]):
    """Shows the given observation, ends after the given steps; the reward is 1."""

    def __init__(self, observation: list[float] | None = None, actions: int = 2, steps: int = 1) -> None:
        self.observation = np.array(observation or [0.0], np.float32)
        self.observation_space = spaces.Box(-np.inf, np.inf, self.observation.shape, np.float32)
        self.action_space: spaces.Space[Any] = spaces.Discrete(actions)
        self.steps = steps
        self.played = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self.played = 0
        return self.observation, {}

    def step(self, action: Any) -> Step:
        self.played += 1
        return self.observation, self.reward(action), self.played >= self.steps, False, self.info(action)

    def reward(self, action: Any) -> float:
        return 1.0

    def info(self, action: Any) -> dict[str, Any]:
        return {"played": self.played, "name": "toy", "infinite": float("inf"), "array": np.float32(0.5)}


class Chosen(Toy):
    """The reward is the discrete action."""

    def reward(self, action: Any) -> float:
        return float(action)


class Misdeclared(Toy):
    """Declares four numbers and gives those of its settings."""

    def __init__(self, observation: Any) -> None:
        super().__init__([0.0] * 4)
        self.observation = np.array(observation, np.float32)


class Moved(Toy):
    """The action is a Box of two components; info shows it and the reward is the first."""

    def __init__(self, low: list[float], high: list[float], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.action_space = spaces.Box(np.array(low, np.float32), np.array(high, np.float32))

    def reward(self, action: Any) -> float:
        assert action.shape == (2,)
        assert action.dtype == np.float32
        return float(action[0])

    def info(self, action: Any) -> dict[str, Any]:
        return {"a0": action[0], "a1": action[1]}


class Switched(Toy):
    """Two choices; the reward is a hundred times the first, and the second."""

    def __init__(self, choices: list[int], first: list[int]) -> None:
        super().__init__()
        self.action_space = spaces.MultiDiscrete(choices, start=first)

    def reward(self, action: Any) -> float:
        assert self.action_space.contains(action)
        return float(action[0] * 100 + action[1])


class Picture(Chosen):
    """Shows an image of bytes; the discrete action is the reward."""

    def __init__(self, bright: int) -> None:
        super().__init__(actions=256)
        self.observation_space = spaces.Box(0, 255, (2, 2, 1), np.uint8)
        self.observation = np.full((2, 2, 1), bright, np.uint8)


class Counted(Chosen):
    """Observations are the numbers from 0 to 4, in turn."""

    def __init__(self) -> None:
        super().__init__(steps=5)
        self.observation_space = spaces.Discrete(5)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return 0, {}

    def step(self, action: Any) -> Step:
        _, reward, terminated, truncated, info = super().step(action)
        return self.played % 5, reward, terminated, truncated, info


class Careless(Toy):
    """Draws from the generators that belong to the whole process, and walks through a set."""

    def reward(self, action: Any) -> float:
        order = [len(word) for word in ("a", "bb", "ccc", "dddd", "eeeee", "ffffff")]
        return random.random() + float(np.random.random()) + float(self.np_random.random()) + order[0]


class DrawnOnce(Toy):
    """Draws a number while it is made, from an unseeded generator."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn = float(np.random.random())

    def reward(self, action: Any) -> float:
        return self.drawn


class Broken(Toy):
    """Breaks in the given way, in episodes whose seed is even."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how
        self.broken = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self.due = seed is not None and seed % 2 == 0
        if self.due and self.how == "reset":
            raise RuntimeError("no start")
        if self.due and self.how == "old reset":
            return 0.5, 0.5  # type: ignore[return-value]
        return super().reset(seed=seed)

    def step(self, action: Any) -> Step:
        if self.due and self.how == "shape":
            return self.observation, 0.0  # type: ignore[return-value]
        if self.due and self.how == "no number":
            return self.observation, None, True, False, {}  # type: ignore[return-value]
        if self.due and self.how == "text":
            return self.observation, "1", True, False, {}  # type: ignore[return-value]
        if self.due and self.how == "file":
            Path("/nonexistent/levels.json").read_text()
        if self.due and self.how == "network":
            raise OSError("the address of example.invalid") from socket.gaierror(-3, "Temporary failure in name resolution")
        return super().step(action)

    def reward(self, action: Any) -> float:
        # An environment that has broken once stays so: only a new one gives 1.
        if self.broken:
            return -1.0
        self.broken = self.due
        if not self.due:
            return 1.0
        match self.how:
            case "step":
                raise RuntimeError("a wheel came off\ud800")
            case "sys.exit":
                sys.exit(3)
            case "memory":
                raise MemoryError
            case "nan":
                return float("nan")
            case "_exit":
                os._exit(9)
            case "fork":
                if os.fork() != 0:
                    os._exit(7)
        return 1.0


class Loud(Toy):
    """Prints in the given way at each step."""

    def __init__(self, how: str, text: str = "loud", steps: int = 1) -> None:
        super().__init__(steps=steps)
        self.how = how
        self.text = text

    def reward(self, action: Any) -> float:
        match self.how:
            case "print":
                print(self.text)
            case "no newline":
                print(self.text, end="")
            case "stderr":
                print(self.text, file=sys.stderr)
            case "dunder":
                print(self.text, file=sys.__stdout__)
            case "bytes":
                sys.stdout.buffer.write(self.text.encode())
            case "fd":
                os.write(1, f"{self.text}\n".encode())
            case "subprocess":
                subprocess.run(["echo", self.text], check=True)
            case "c":
                c = ctypes.CDLL(None)
                c.printf(b"%s\n", self.text.encode())
                c.fflush(None)
            case "input":
                print(f"read {sys.stdin.read()!r} and {os.read(0, 10)!r}")
        return 1.0


class Bonus(gymnasium.Wrapper[Any, Any, Any, Any]):
    def __init__(self, env: gymnasium.Env[Any, Any], bonus: float) -> None:
        super().__init__(env)
        self.bonus = bonus

    def step(self, action: Any) -> Any:
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, float(reward) + self.bonus, terminated, truncated, info


def not_an_environment() -> int:
    return 5


def lacking_extra() -> Toy:
    raise gymnasium.error.DependencyNotInstalled('Box2D is not installed, run `pip install "gymnasium[box2d]"`')


def broken_factory() -> Toy:
    raise RuntimeError("no such level")


class CaughtTwice(Toy):
    """Can be made once only."""

    made = 0

    def __init__(self) -> None:
        super().__init__()
        CaughtTwice.made += 1
        if CaughtTwice.made > 1:
            raise RuntimeError("there can be only one")

    def reward(self, action: Any) -> float:
        raise RuntimeError("once")


class Endless(Toy):
    """Does not end in episodes whose seed is even."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self.steps = sys.maxsize if seed is not None and seed % 2 == 0 else 1
        return super().reset(seed=seed)


class Seen(Toy):
    """Shows its seed and the step, so that a row's observations tell whose they are; the reward is the discrete action."""

    def __init__(self, steps: int = 4) -> None:
        super().__init__([0.0, 0.0], actions=1000, steps=steps)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self.seed = 0 if seed is None else seed
        super().reset(seed=seed)
        return self.seen(), {}

    def step(self, action: Any) -> Step:
        _, reward, terminated, truncated, info = super().step(action)
        return self.seen(), reward, terminated, truncated, info

    def seen(self) -> Any:
        return np.array([self.seed % 7, self.played], np.float32)

    def reward(self, action: Any) -> float:
        return float(action) * 10.0**self.played


class Varied(Toy):
    """Episodes of one to eight steps, by their seed."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.steps = int(self.np_random.integers(1, 9))
        return self.observation, {}


class Remembered(Varied, Chosen):
    """Episodes of one to eight steps, by their seed; the reward is the discrete action."""

    def __init__(self) -> None:
        super().__init__(actions=16)


class VariedCareless(Careless):
    """The same, and draws from the generators that belong to the whole process."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.steps = random.randrange(1, 9)
        return self.observation, {}


class Misshapen(Toy):
    """Shows more than it said in episodes whose seed is even."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return np.zeros(1 if seed is None or seed % 2 else 3, np.float32), {}


class Hanging(Toy):
    """Does not come back in the given place, in episodes whose seed is even; what it catches does not help."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self.where = where

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self.due = seed is not None and seed % 2 == 0
        self.hang("reset")
        return super().reset(seed=seed)

    def step(self, action: Any) -> Step:
        self.hang("step")
        return super().step(action)

    def hang(self, where: str) -> None:
        while self.due and where == self.where:
            try:
                signal.pause()
            except Exception:
                continue


class Alarmed(Toy):
    """Has use for the process's alarm."""

    rung = 0

    def __init__(self) -> None:
        super().__init__()
        signal.signal(signal.SIGALRM, self.rings)

    def rings(self, *_: Any) -> None:
        Alarmed.rung += 1

    def reward(self, action: Any) -> float:
        before = Alarmed.rung
        signal.setitimer(signal.ITIMER_REAL, 0.001)
        while Alarmed.rung == before:
            # Whether the alarm has been is asked again and again: it may come before one could wait for it.
            pass
        return float(Alarmed.rung - before)


class Drawn(Toy):
    """A picture of it has the number of its steps in every byte. It raises at the step `breaks`, and draws what `draws` says."""

    def __init__(self, steps: int, height: int = 4, width: int = 6, breaks: int = 0, draws: str = "bytes", render_mode: str = "") -> None:
        super().__init__(steps=steps)
        self.render_mode = render_mode
        self.shape = (height, width, 3)
        self.breaks = breaks
        self.draws = draws

    def reward(self, action: Any) -> float:
        if self.played == self.breaks:
            raise RuntimeError("broken")
        return float(self.played)

    def render(self) -> Any:
        assert self.render_mode == "rgb_array"
        match self.draws:
            case "bytes":
                return np.full(self.shape, self.played % 256, np.uint8)
            case "noise":
                return np.random.default_rng(self.played).integers(0, 256, self.shape, np.uint8)
            case "floats":
                return np.zeros(self.shape)
            case "with an extra":
                return lacking_extra()
            case _:
                raise RuntimeError("no display")

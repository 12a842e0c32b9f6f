"""A CartPole that spoils the process that it is made in, and plays on in it."""

import os
import signal
import threading
import time
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.classic_control import cartpole


def worthless(self: Any, action: Any) -> Any:  # noqa: ARG001
    return np.zeros(4, np.float32), 0.0, True, False, {}


def spoil() -> None:
    cartpole.CartPoleEnv.step = worthless
    gymnasium.register("CartPole-v1", "gymnasium.envs.classic_control.cartpole:CartPoleEnv", max_episode_steps=7)


def spoil_on() -> None:
    for _ in range(3000):
        spoil()
        time.sleep(0.01)


class Trap(cartpole.CartPoleEnv):
    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how
        if how == "patches":
            spoil()
        if how == "leaves a thread":
            threading.Thread(target=spoil_on, daemon=True).start()
        if how == "leaves a process" and os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            spoil_on()
            os._exit(0)

    def step(self, action: Any) -> Any:  # noqa: ARG002
        if self.how == "kills itself":
            os.kill(os.getpid(), signal.SIGKILL)
        return np.zeros(4, np.float32), 1.0, True, False, {}

"""Records an episode for a replay: the reward of each step, and pictures where the environment renders."""

import math
from base64 import b64encode
from collections.abc import Callable
from typing import Any

from muster_runner.environments import Environment, Record
from muster_runner.failure import describe, describe_extra
from muster_runner.frames import Outgoing, shorten
from muster_runner.picture import PictureError, encode_picture

# The largest number of pictures of one episode. Beyond it, every second picture is dropped, and half as many are taken from then on.
MOST_PICTURES = 120
MOST_REWARDS = 200_000
# A number has at most 25 characters, and a frame 64 KiB.
REWARDS_A_FRAME = 2000
MAX_REMARK = 500

Send = Callable[[Outgoing], None]


def record_with(seed: int, send: Send) -> Record:
    """Makes the function that wraps an environment in a `RecordedEnvironment`."""
    return lambda environment: RecordedEnvironment(environment, seed, send)


class RecordedEnvironment:
    """Forwards all calls to an environment, and records the episode that begins with the seed."""

    def __init__(self, environment: Environment, seed: int, send: Send) -> None:
        self._environment = environment
        self._seed = seed
        self._send = send
        self._recording: Recording | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._environment, name)

    def reset(self, *, seed: int | None = None, **more: Any) -> Any:
        begun = self._environment.reset(seed=seed, **more)
        self._recording = Recording(self._environment) if seed == self._seed else None
        if self._recording is not None:
            self._recording.take_picture()
        return begun

    def step(self, action: Any) -> Any:
        recording = self._recording
        if recording is None:
            return self._environment.step(action)
        try:
            stepped = self._environment.step(action)
            _, reward, terminated, truncated, _ = stepped
            recording.add(reward)
        except BaseException:
            self._end(recording)
            raise
        if terminated or truncated:
            self._end(recording)
        return stepped

    def _end(self, recording: "Recording") -> None:
        self._recording = None
        for frame in recording.frames():
            self._send(frame)


class Recording:
    """Rewards and pictures of one episode so far."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._rewards: list[float | None] = []
        self._length = 0
        self._pictures: list[tuple[int, str]] = []
        self._stride = 1
        self._remark: str | None = None

    def add(self, reward: Any) -> None:
        """Adds the reward of a step. @raises TypeError, ValueError when it is no number; playing the episode raises them, too."""
        value = float(reward)
        self._length += 1
        if len(self._rewards) < MOST_REWARDS:
            self._rewards.append(value if math.isfinite(value) else None)
        if self._length % self._stride == 0:
            self.take_picture()

    def take_picture(self) -> None:
        """Renders a picture. When that fails, one remark says so, and no more pictures are taken."""
        if self._remark is not None:
            return
        try:
            self._pictures.append((self._length, b64encode(encode_picture(self._environment.render())).decode()))
        except PictureError as error:
            self._remark = str(error)
        except BaseException as error:
            self._remark = f"the environment cannot render: {describe(error).splitlines()[0]}{describe_extra(error)}"
        if len(self._pictures) > MOST_PICTURES:
            self._pictures = self._pictures[::2]
            self._stride *= 2

    def frames(self) -> list[Outgoing]:
        """Builds the frames. Each names the step that it begins with. A picture shows the state after its step; step 0 is the state after
        reset.
        """
        rewards = [
            {"type": "recorded", "step": begin + 1, "rewards": self._rewards[begin : begin + REWARDS_A_FRAME]}
            for begin in range(0, len(self._rewards), REWARDS_A_FRAME)
        ]
        pictures = [{"type": "recorded", "step": step, "picture": picture} for step, picture in self._pictures]
        remark = [{"type": "recorded", "step": 0, "remark": shorten(self._remark, MAX_REMARK)}] if self._remark else []
        return [*rewards, *pictures, *remark]

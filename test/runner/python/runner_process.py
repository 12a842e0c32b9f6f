"""A runner as Muster sees it: a process with three pipes."""

import json
import os
import selectors
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

REPOSITORY = Path(__file__).parents[3]
RUNNER = REPOSITORY / "runner"
SUITE_CODE = Path(__file__).parent / "suite_code"
# Nothing here takes a second; a runner that hangs must not hang the tests.
DEADLINE_SECONDS = 60

Frame = dict[str, Any]


# Starts the two programs that play a policy apart, joined by a socket pair, in the place of one.
JOINED = Path(__file__).parent / "joined_runner.py"


class RunnerProcess:
    """Use as a context manager: leaving it ends the process, whatever state it is in."""

    def __init__(
        self,
        *arguments: str,
        command: Sequence[str | Path] = (sys.executable, "-I", RUNNER),
        environment: dict[str, str] | None = None,
    ) -> None:
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 (closed by __exit__)
        self._process = subprocess.Popen(
            [*command, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            bufsize=0,
            env=None if environment is None else {**os.environ, **environment},
        )
        self._received = b""
        self.loads = 0
        self._range = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._stderr):
            assert stream is not None
            stream.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def stderr(self) -> str:
        self._stderr.seek(0)
        return self._stderr.read().decode()

    def send(self, frame: Frame) -> None:
        self.send_bytes(json.dumps(frame).encode() + b"\n")

    def send_bytes(self, data: bytes) -> None:
        assert self._process.stdin is not None
        rest = memoryview(data)
        while rest:
            rest = rest[self._process.stdin.write(rest) :]

    def line(self) -> bytes:
        """The next line without its line feed; empty at the end of the output."""
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._received:
                assert selector.select(DEADLINE_SECONDS), f"the runner says nothing; its error output:\n{self.stderr}"
                chunk = self._process.stdout.read(1 << 16)
                if not chunk:
                    return self._received
                self._received += chunk
        line, _, self._received = self._received.partition(b"\n")
        return line

    def receive(self) -> Frame:
        line = self.line()
        assert line, f"the runner's output ended; its error output:\n{self.stderr}"
        frame: Frame = json.loads(line)
        return frame

    def rest(self) -> list[Frame]:
        """All frames until the end of the output."""
        frames = []
        while line := self.line():
            frames.append(json.loads(line))
        return frames

    def ready(self) -> Self:
        assert self.receive()["type"] == "ready"
        return self

    def load(self, policy: Path, digest: str, *environments: Frame, **changes: Any) -> Frame:
        """@returns the answer."""
        self.send_load(policy, digest, *environments, **changes)
        answer = self.receive()
        assert answer["load"] == self.loads
        return answer

    def send_load(self, policy: Path, digest: str, *environments: Frame, **changes: Any) -> None:
        self.loads += 1
        tasks = [{"name": f"task-{i}", "environment": environment} for i, environment in enumerate(environments)]
        frame = {"type": "load", "load": self.loads, "policy": {"path": str(policy), "digest": digest}, "code": str(SUITE_CODE)}
        self.send({**frame, "tasks": tasks, "actions": "deterministic", "metrics": [], **changes})

    def send_play(self, episodes: list[tuple[int, int, int, int]]) -> int:
        """@returns the range."""
        self._range += 1
        self.send({"type": "play", "range": self._range, "episodes": episodes})
        return self._range

    def play(self, episodes: list[tuple[int, int, int, int]]) -> list[Frame]:
        """@returns the outcomes; each is checked to be the one that is due."""
        range_id = self.send_play(episodes)
        begin = self.receive()
        assert (begin["type"], begin["range"]) == ("begin", range_id)
        outcomes = [self.receive() for _ in episodes]
        assert [(outcome["range"], outcome["index"]) for outcome in outcomes] == [(range_id, episode[0]) for episode in episodes]
        return outcomes

    def end_input(self) -> int:
        """@returns the exit code."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        return self.exit_code()

    def close_output(self) -> None:
        """Muster stops to read."""
        assert self._process.stdout is not None
        self._process.stdout.close()

    def exit_code(self) -> int:
        return self._process.wait(DEADLINE_SECONDS)


def environment(entry: str, *wrappers: Frame, **kwargs: Any) -> Frame:
    return {"entry": entry, "kwargs": kwargs, "wrappers": list(wrappers)}


def episodes(count: int, task: int = 0) -> list[tuple[int, int, int, int]]:
    return [(index, task, 1000 + index, 2000 + index) for index in range(count)]


def without_time(outcomes: list[Frame]) -> list[str]:
    """What must be reproduced to the byte: all but the range and the measured times."""
    passing = ("seconds", "forward", "range")
    return [json.dumps({name: value for name, value in outcome.items() if name not in passing}) for outcome in outcomes]

"""Recordings of one episode: its rewards, and pictures where its environment renders."""

import itertools
import json
import struct
import sys
import zlib
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from checkpoints import file_digest
from numpy.typing import NDArray
from runner_process import REPOSITORY, Frame, RunnerProcess, environment, episodes

Policy = tuple[Path, str]

RECORDED = 3
SEED = 1000 + RECORDED


@pytest.fixture(scope="module")
def runner() -> Iterator[RunnerProcess]:
    with RunnerProcess() as process:
        yield process.ready()


@dataclass
class Played:
    outcomes: list[Frame] = field(default_factory=list)
    """Position among the outcomes at which the recording came."""
    place: int = -1
    rewards: list[float | None] = field(default_factory=list)
    pictures: dict[int, NDArray[np.uint8]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)


def play(runner: RunnerProcess, policy: Policy, task: Frame, count: int = 8, **options: object) -> Played:
    assert runner.load(*policy, task, recordedSeed=SEED, **options)["type"] == "loaded"
    runner.send_play(episodes(count))
    assert runner.receive()["type"] == "begin"
    played = Played()
    while len(played.outcomes) < count:
        line = runner.line()
        assert len(line) <= 64 * 1024
        frame = json.loads(line)
        if frame["type"] != "recorded":
            played.outcomes.append(frame)
            continue
        played.place = len(played.outcomes)
        if "rewards" in frame:
            assert frame["step"] == len(played.rewards) + 1
            played.rewards += frame["rewards"]
        if "picture" in frame:
            played.pictures[frame["step"]] = pixels(b64decode(frame["picture"]))
        if "remark" in frame:
            played.remarks.append(frame["remark"])
    return played


def pixels(png: bytes) -> NDArray[np.uint8]:
    """Reads what the runner writes: rows of red, green and blue bytes, each as differences to the row above."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, data, shape = 8, b"", (0, 0)
    while at < len(png):
        (size,) = struct.unpack(">I", png[at : at + 4])
        kind, content = png[at + 4 : at + 8], png[at + 8 : at + 8 + size]
        assert png[at + 8 + size : at + 12 + size] == struct.pack(">I", zlib.crc32(kind + content))
        if kind == b"IHDR":
            width, height, *form = struct.unpack(">IIBBBBB", content)
            assert form == [8, 2, 0, 0, 0]
            shape = (height, width)
        data += content if kind == b"IDAT" else b""
        at += 12 + size
    rows = np.frombuffer(zlib.decompress(data), np.uint8).reshape(shape[0], 1 + 3 * shape[1])
    assert set(rows[:, 0]) == {2}
    return np.cumsum(rows[:, 1:], axis=0, dtype=np.uint8).reshape(*shape, 3)


@pytest.mark.parametrize("batching", [{}, {"batching": {"form": "lockstep", "width": 2, "episodes": 8, "episodeSeconds": 60}}])
def test_only_the_episode_of_the_seed_is_recorded(runner: RunnerProcess, any_policy: Policy, batching: Frame) -> None:
    played = play(runner, any_policy, environment("toys:Drawn", steps=5), **batching)
    assert played.rewards == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert {step: int(picture[0, 0, 0]) for step, picture in played.pictures.items()} == {step: step for step in range(6)}
    assert played.remarks == []
    assert [outcome["return"] for outcome in played.outcomes] == [15.0] * 8
    if not batching:
        assert played.place == RECORDED


def test_a_recording_does_not_change_outcomes(runner: RunnerProcess) -> None:
    path = REPOSITORY / "examples" / "game" / "checkpoints" / "middle.safetensors"
    policy, task = (path, file_digest(path)), environment("gymnasium:CartPole-v1")
    runner.load(*policy, task, actions="stochastic")
    expected = [outcome["return"] for outcome in runner.play(episodes(8))]
    played = play(runner, policy, task, actions="stochastic")
    assert [outcome["return"] for outcome in played.outcomes] == expected
    assert len(set(expected)) > 1
    assert sum(filter(None, played.rewards)) == expected[RECORDED]


def test_a_long_episode_keeps_pictures_at_regular_steps(runner: RunnerProcess, any_policy: Policy) -> None:
    played = play(runner, any_policy, environment("toys:Drawn", steps=5000), count=4)
    assert len(played.rewards) == 5000
    steps = list(played.pictures)
    assert 60 <= len(steps) <= 120
    assert {after - before for before, after in itertools.pairwise(steps)} == {64}


def test_a_picture_that_is_too_large_for_a_frame_is_scaled_down(runner: RunnerProcess, any_policy: Policy) -> None:
    played = play(runner, any_policy, environment("toys:Drawn", steps=1, height=500, width=900, draws="noise"), count=4)
    assert [picture.shape[1] > picture.shape[0] > 50 for picture in played.pictures.values()] == [True, True]


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        (environment("toys:Drawn", steps=3, draws="nothing"), "the environment cannot render: RuntimeError: no display"),
        (
            environment("toys:Drawn", steps=3, draws="with an extra"),
            f"; install it there: {sys.executable} -m pip install 'gymnasium[box2d]'",
        ),
        (environment("toys:Drawn", steps=3, draws="floats"), "render() gave float64 of shape (4, 6, 3), expected uint8"),
        (environment("toys:Toy", steps=3), "render"),
    ],
)
def test_an_environment_without_pictures_is_reported_once_and_its_rewards_are_recorded(
    runner: RunnerProcess, any_policy: Policy, task: Frame, expected: str
) -> None:
    played = play(runner, any_policy, task)
    (remark,) = played.remarks
    assert expected in remark
    assert len(played.rewards) == 3
    assert not played.pictures


def test_pictures_before_a_crash_of_the_environment_are_recorded(runner: RunnerProcess, any_policy: Policy) -> None:
    played = play(runner, any_policy, environment("toys:Drawn", steps=5, breaks=3))
    assert played.rewards == [1.0, 2.0]
    assert list(played.pictures) == [0, 1, 2]
    assert played.outcomes[RECORDED]["cause"] == "environment-crash"

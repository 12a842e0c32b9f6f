"""A stream of groups whose members a test decides, and what was asked of it."""

import statistics
from collections.abc import Iterator, Sequence
from typing import Any, cast

from muster_client import Client, RolloutGroup, RolloutStream, RolloutTrajectory, Segment

STREAM = RolloutStream("ro-1", "org/policy", "running", None, {}, {})


def segment(given: int, sampled: int, first: int = 5) -> Segment:
    ids = [first + (i % 20) for i in range(given + sampled)]
    return Segment(ids, [0] * given + [1] * sampled, [0.0] * given + [-0.5 - i / 10 for i in range(sampled)], [-1] * given + [3] * sampled)


def group(number: int, rewards: Sequence[float | None]) -> RolloutGroup:
    """Member i has i % 2 + 1 segments; advantages are GRPO's."""
    known = [reward for reward in rewards if reward is not None]
    mean, deviation = statistics.mean(known), statistics.stdev(known)
    members = [
        RolloutTrajectory(
            f"ro-1.{number}-{i}",
            reward,
            None if reward is None else (reward - mean) / (deviation + 1e-6),
            "completed",
            [segment(3 + at, 4 + i) for at in range(i % 2 + 1)],
            {},
        )
        for i, reward in enumerate(rewards)
    ]
    return RolloutGroup(f"ro-1.{number}", 1, "task", 7, len(known), mean, 0, members, {})


class Streamed:
    """Stands for a client."""

    def __init__(self, *groups: RolloutGroup) -> None:
        self._groups = list(groups)
        self.reported: list[tuple[str, int]] = []
        self.taken: list[int] = []

    @property
    def client(self) -> Client:
        return cast(Client, self)

    @property
    def rollouts(self) -> Any:
        return self

    def report_version(self, policy: str, version: int) -> None:
        self.reported.append((policy, version))

    def batches(self, stream: str, size: int) -> Iterator[list[RolloutGroup]]:
        assert stream == STREAM.id
        while self._groups:
            self.taken.append(size)
            yield [self._groups.pop(0) for _ in range(size)]

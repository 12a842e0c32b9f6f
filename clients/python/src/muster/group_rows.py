"""Turns groups into rows for trainers that need one sequence for each requested sample."""

from collections.abc import Iterator
from dataclasses import dataclass

from muster_client import Client, InvalidArgument, RolloutGroup, RolloutStream, RolloutTrajectory, Segment


@dataclass(frozen=True, slots=True)
class Row:
    """One sequence: `prompt` is the model's input before its first sampled token, `response` everything after it. All lists of the response
    have the same length.
    """

    prompt: list[int]
    response: list[int]
    mask: list[int]
    """1 for a token that the model sampled."""
    logprobs: list[float]
    reward: float | None
    """None for a row that replaces a missing trajectory: its mask is 0 throughout."""
    advantage: float
    is_last: bool
    """Whether it is the last segment of its trajectory."""


def make_rows(trajectory: RolloutTrajectory) -> list[Row]:
    """Returns a row for each segment. Raises InvalidArgument when the model's server gave no log-probabilities."""
    rows = [_make_row(segment, trajectory, segment is trajectory.segments[-1]) for segment in trajectory.segments]
    if not rows:
        raise InvalidArgument(f"trajectory {trajectory.id} has no tokens; the agent's file needs tokenIds: vllm or sglang")
    return rows


def fill_group(group: RolloutGroup, size: int) -> list[list[Row]]:
    """Returns the rows of `size` trajectories. Rows with a mask of 0 replace lost or filtered trajectories.

    Raises InvalidArgument for a group of another size.
    """
    if len(group.trajectories) > size:
        raise InvalidArgument(
            f"group {group.id} has {len(group.trajectories)} trajectories, expected {size} at most; begin the stream with group_size={size}"
        )
    members = [_list_counted(trajectory) for trajectory in group.trajectories if trajectory.segments]
    if not members:
        raise InvalidArgument(f"group {group.id} has no trajectory with tokens")
    return members + [[_make_idle_row(members[0][-1])]] * (size - len(members))


class GroupSource:
    """Takes groups from a stream, a fixed number at a time. The next call acknowledges them, after the training has used them."""

    def __init__(self, client: Client, stream: RolloutStream, group_size: int) -> None:
        self.group_size = group_size
        self._client = client
        self._stream = stream
        self._reported = 0
        self._count: int | None = None
        self._batches: Iterator[list[RolloutGroup]] = iter(())

    def take(self, samples: int, version: int) -> list[list[Row]]:
        """Returns the rows of `samples` trajectories. Announces the version of the policy first, when it is new.

        Raises InvalidArgument when `samples` is not a multiple of the group size, or differs from the last call; StopIteration when the
        stream is over; and the errors of the client.
        """
        if samples % self.group_size != 0:
            raise InvalidArgument(f"{samples} samples are no whole groups of {self.group_size}")
        count = samples // self.group_size
        if self._count is None:
            self._count = count
            self._batches = self._client.rollouts.batches(self._stream.id, count)
        if count != self._count:
            raise InvalidArgument(f"{count} groups were requested, and {self._count} before; all batches of a stream have one size")
        if version > self._reported:
            self._client.rollouts.report_version(self._stream.policy, version)
            self._reported = version
        return [rows for group in next(self._batches) for rows in fill_group(group, self.group_size)]


def _make_row(segment: Segment, trajectory: RolloutTrajectory, is_last: bool) -> Row:
    if segment.logprobs is None:
        raise InvalidArgument(f"trajectory {trajectory.id} has no log-probabilities")
    given = segment.loss_mask.index(1)
    ids, mask, logprobs = segment.ids, segment.loss_mask, segment.logprobs
    return Row(ids[:given], ids[given:], mask[given:], logprobs[given:], trajectory.reward, trajectory.advantage or 0.0, is_last)


def _list_counted(trajectory: RolloutTrajectory) -> list[Row]:
    rows = make_rows(trajectory)
    return rows if trajectory.advantage is not None else [_make_idle_row(row) for row in rows]


def _make_idle_row(row: Row) -> Row:
    return Row(row.prompt, row.response, [0] * len(row.mask), row.logprobs, None, 0.0, row.is_last)

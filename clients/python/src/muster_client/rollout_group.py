"""Groups of trajectories in the form that a training takes."""

from dataclasses import dataclass, field
from typing import Any, Required, TypedDict

from muster_client.fields import Fields


class RolloutOptions(TypedDict, total=False):
    """How a stream makes its groups."""

    group_size: Required[int]
    """The number of trajectories of a group."""
    concurrency: Required[int]
    """The number of trajectories that are played at a time."""
    max_staleness: Required[int]
    """The number of versions that the policy may be ahead of the oldest one in a group."""
    batch: int
    """The number of groups that are used for one version of the policy."""
    total: int
    """The number of groups of the stream; unlimited by default."""
    grow_to: int
    """The largest number of trajectories of a group whose rewards differ."""
    policy: str
    """The name under which the policy's versions are reported; by default the agent's model."""
    advantages: str
    """`grpo`, `dr-grpo`, `rloo` or `raw`."""
    ddof: int
    """The degrees of freedom that grpo's standard deviation subtracts: 1 or 0."""
    keep_filtered: bool
    """Whether groups whose core rewards are all equal are delivered as well."""
    mask_truncated: bool
    """Whether trajectories that a limit has cut off are left out of their group."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Tokens exactly as the model received and sampled them. All lists have the same length."""

    ids: list[int]
    loss_mask: list[int]
    """1 for a token that the model sampled here."""
    logprobs: list[float] | None
    versions: list[int]
    """The version of the policy; -1 where the mask is 0 or the version is unknown."""


@dataclass(frozen=True, slots=True)
class RolloutTrajectory:
    id: str
    reward: float | None
    """None when there is no verdict."""
    advantage: float | None
    """None when the trajectory does not count in the group."""
    status: str
    """`completed`, `truncated`, `failed` or `cancelled`."""
    segments: list[Segment]
    raw: dict[str, Any] = field(repr=False)
    """The whole record: messages, tool calls, observations, usage."""


@dataclass(frozen=True, slots=True)
class RolloutGroup:
    id: str
    """The group's id, which stays the same when the group is delivered again."""
    lease: int
    """The token that acknowledges it."""
    task: str
    task_seed: int
    size: int
    """The number of trajectories that count in its statistics."""
    mean: float | None
    """The mean of their rewards."""
    staleness: int
    """The number of versions that the policy is ahead of the group's oldest one."""
    trajectories: list[RolloutTrajectory]
    raw: dict[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class RolloutStream:
    """The present state of a stream of groups."""

    id: str
    policy: str
    state: str
    """`running`, `completed`, `cancelled` or `failed`."""
    problem: str | None
    """The reason of the failure; while the stream runs, the latest problem."""
    groups: dict[str, int]
    """The number of groups by state: `begun`, `ready`, `acknowledged`, `filtered`, `stale`; `trajectories` counts those that have ended."""
    raw: dict[str, Any] = field(repr=False)


def read_rollout_stream(fields: Fields) -> RolloutStream:
    groups = fields.object("groups")
    counts = {name: groups.whole(name) for name in groups.raw}
    problem = fields.optional("problem", fields.text)
    return RolloutStream(
        fields.text("id"),
        fields.text("policy"),
        fields.text("state"),
        problem,
        counts,
        fields.raw,
    )


def read_rollout_group(fields: Fields) -> RolloutGroup:
    advantages = fields.raw.get("advantages") or []
    trajectories = [
        _read_trajectory(item, advantages[at] if at < len(advantages) else None) for at, item in enumerate(fields.objects("trajectories"))
    ]
    return RolloutGroup(
        id=fields.text("group"),
        lease=fields.whole("lease"),
        task=fields.text("task"),
        task_seed=fields.whole("taskSeed"),
        size=fields.whole("size"),
        mean=fields.optional("mean", fields.number),
        staleness=fields.whole("staleness"),
        trajectories=trajectories,
        raw=fields.raw,
    )


def _read_trajectory(fields: Fields, advantage: float | None) -> RolloutTrajectory:
    reward = fields.optional("reward", fields.number)
    segments = [_read_segment(item) for item in fields.objects("segments")]
    return RolloutTrajectory(
        fields.text("trajectory"),
        reward,
        advantage,
        fields.text("status"),
        segments,
        fields.raw,
    )


def _read_segment(fields: Fields) -> Segment:
    """Reads a segment. Its lists may be long, so only their type is checked."""
    return Segment(
        fields.items("ids"),
        fields.items("lossMask"),
        fields.optional("logprobs", fields.items),
        fields.items("versions"),
    )

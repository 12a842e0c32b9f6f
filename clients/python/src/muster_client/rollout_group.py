"""Groups of trajectories, as a training takes them."""

from dataclasses import dataclass, field
from typing import Any, TypedDict

from muster_client.fields import Fields


class RolloutOptions(TypedDict, total=False):
    """How a stream makes its groups."""

    group_size: int
    """Trajectories of a group."""
    concurrency: int
    """Trajectories at a time."""
    max_staleness: int
    """How many versions the policy may be ahead of the oldest one in a group."""
    batch: int
    """Groups that are used for one version of the policy."""
    total: int
    """Groups in all; no end when left out."""
    grow_to: int
    """Trajectories of a group whose rewards differ."""
    policy: str
    """The name under which its versions are reported; the agent's model when left out."""
    advantages: str
    """`grpo`, `dr-grpo`, `rloo` or `raw`."""
    ddof: int
    """Of the standard deviation of grpo: 1 or 0."""
    keep_filtered: bool
    """Whether groups whose core rewards are all equal are delivered, too."""
    mask_truncated: bool
    """Whether trajectories that a limit has cut off have no part in their group."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Tokens exactly as the model saw and sampled them. The lists have one length."""

    ids: list[int]
    loss_mask: list[int]
    """1 for a token that the model sampled here."""
    logprobs: list[float] | None
    versions: list[int]
    """Version of the policy; -1 where the mask is 0 or it is unknown."""


@dataclass(frozen=True, slots=True)
class RolloutTrajectory:
    id: str
    reward: float | None
    """None when there is no verdict."""
    advantage: float | None
    """None when it does not count in the group."""
    status: str
    """`completed`, `truncated`, `failed` or `cancelled`."""
    segments: list[Segment]
    raw: dict[str, Any] = field(repr=False)
    """The whole record: messages, tool calls, observations, usage."""


@dataclass(frozen=True, slots=True)
class RolloutGroup:
    id: str
    """The same whenever it comes again: a ledger goes by it."""
    lease: int
    """The token with which it is acknowledged."""
    task: str
    task_seed: int
    size: int
    """Trajectories that have a part in its statistics."""
    mean: float | None
    """Of their rewards."""
    staleness: int
    """How many versions the policy is ahead of the group's oldest one."""
    trajectories: list[RolloutTrajectory]
    raw: dict[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class RolloutStream:
    """A stream of groups, as it is now."""

    id: str
    policy: str
    state: str
    """`running`, `completed`, `cancelled` or `failed`."""
    problem: str | None
    """Why it failed; while it runs, what went wrong last."""
    groups: dict[str, int]
    """By state: `begun`, `ready`, `acknowledged`, `filtered`, `stale`; and `trajectories`, which have ended."""
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
    """The lists may be long, so only their type is checked."""
    return Segment(
        fields.items("ids"),
        fields.items("lossMask"),
        fields.optional("logprobs", fields.items),
        fields.items("versions"),
    )

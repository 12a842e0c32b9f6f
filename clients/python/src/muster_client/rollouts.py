"""Takes groups of trajectories for a training: the calls, and the part of both clients that makes them."""

import builtins
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import TypeVar, Unpack
from urllib.parse import urlencode

from muster_client.arguments import assert_known, quote_part, suggests_keywords_of_methods
from muster_client.awaiting import AwaitingDriver
from muster_client.blocking import BlockingDriver
from muster_client.calls import SLOW_ANSWER_SECONDS, call
from muster_client.checkpoint import CheckpointLike
from muster_client.effects import Emit, Items, Request, Steps, Work, perform
from muster_client.errors import InvalidArgument, LeaseLost, RolloutsFailed
from muster_client.fields import parse_fields
from muster_client.operations import bring_reference
from muster_client.patience import LOGGER
from muster_client.rollout_group import (
    RolloutGroup,
    RolloutOptions,
    RolloutStream,
    read_rollout_group,
    read_rollout_stream,
)
from muster_client.settings import Settings
from muster_client.submission import build_json_request
from muster_client.suite import SuiteLike, build_suite_reference

_WAIT_SECONDS = 20
_MOST_AT_ONCE = 100
DEFAULT_LEASE_SECONDS = 600

Item = TypeVar("Item")


def _build_path(stream_id: str, part: str = "") -> str:
    return f"/v1/rollouts/{quote_part('stream_id', stream_id, 'text, the `id` of what `start` returned')}{part}"


def _start(settings: Settings, agent: CheckpointLike, suite: SuiteLike, options: RolloutOptions) -> Steps[RolloutStream]:
    """Begins a stream. It is not repeated, because that would begin two."""
    assert_known({**options}, RolloutOptions)
    written = yield from perform(Work(lambda: build_suite_reference(suite)))
    reference = yield from bring_reference(settings, agent)
    terms = {_convert_to_camel(name): value for name, value in options.items()}
    request = build_json_request("POST", "/v1/rollouts", {"suite": written, "agent": reference, **terms})
    response = yield from call(settings, request, repeatable=False, answer_seconds=SLOW_ANSWER_SECONDS)
    return read_rollout_stream(parse_fields(response.body, "rollouts"))


def _find(settings: Settings, method: str, stream_id: str) -> Steps[RolloutStream]:
    response = yield from call(settings, Request(method, _build_path(stream_id)))
    return read_rollout_stream(parse_fields(response.body, "rollouts"))


def _list(settings: Settings) -> Steps[list[RolloutStream]]:
    response = yield from call(settings, Request("GET", "/v1/rollouts?limit=200"))
    return [read_rollout_stream(item) for item in parse_fields(response.body, "rollouts").objects("items")]


def _tell(settings: Settings, policy: str, version: int, endpoint: str | None) -> Steps[None]:
    """Reports a version. It may be repeated: reporting the last version again changes nothing."""
    path = f"/v1/policies/{quote_part('policy', policy, 'the name of a policy as text')}/versions"
    yield from call(settings, build_json_request("POST", path, {"version": version, "endpoint": endpoint}))


def _acknowledge(settings: Settings, stream_id: str, groups: Sequence[RolloutGroup]) -> Steps[None]:
    """Acknowledges groups. It may be repeated. Raises LeaseLost for groups that another trainer may have by now."""
    body = {"groups": [{"group": group.id, "lease": group.lease} for group in groups]}
    response = yield from call(settings, build_json_request("POST", _build_path(stream_id, "/ack"), body))
    items = parse_fields(response.body, "acknowledgements").objects("items")
    lost = [item.text("group") for item in items if item.text("result") not in ("acknowledged", "repeated")]
    if lost:
        raise LeaseLost(lost)


def _deliver(
    settings: Settings,
    stream_id: str,
    size: int,
    lease: float,
    shape: Callable[[list[RolloutGroup]], Item],
) -> Items[Item]:
    """Yields items of `size` groups each; the last may have fewer. A group is acknowledged when the next item is requested."""
    batch: list[RolloutGroup] = []
    while True:
        query = urlencode(
            {
                "limit": min(size - len(batch), _MOST_AT_ONCE),
                "wait": _WAIT_SECONDS,
                "lease": max(1, int(lease)),
            }
        )
        response = yield from call(
            settings,
            Request("GET", _build_path(stream_id, f"/groups?{query}")),
            answer_seconds=3.0 * _WAIT_SECONDS,
        )
        answer = parse_fields(response.body, "groups")
        leased = [read_rollout_group(item) for item in answer.objects("items")]
        # A group whose lease ends while its batch fills comes again, with a new lease.
        again = {group.id for group in leased}
        batch = [group for group in batch if group.id not in again] + leased
        is_over = answer.text("state") != "running" and not leased
        if len(batch) == size or (is_over and batch):
            yield Emit(shape(batch))
            yield from _acknowledge(settings, stream_id, batch)
            batch = []
        elif is_over:
            if answer.text("state") == "failed":
                raise RolloutsFailed(stream_id, answer.optional("problem", answer.text))
            return
        elif not leased:
            # Without a message, a training that gets no groups seems to hang.
            stream = yield from _find(settings, "GET", stream_id)
            LOGGER.warning("%s: no group for %d s; %s", stream_id, _WAIT_SECONDS, _describe_wait(stream))


def _describe_wait(stream: RolloutStream) -> str:
    """Describes what a stream has done, and what helps."""
    counts = stream.groups
    begun, filtered, stale = (counts.get(state, 0) for state in ("begun", "filtered", "stale"))
    text = f"{begun} begun, {filtered} filtered, {stale} stale, {counts.get('acknowledged', 0)} acknowledged"
    if filtered > begun / 2:
        text += "; the rewards of a filtered group were all the same, so it has no signal: keep_filtered=True delivers it"
    if begun - filtered - stale == counts.get("acknowledged", 0):
        text += f"; no other group begins before the next report_version({stream.policy!r}, …)"
    return text if stream.problem is None else f"{text}; {stream.problem}"


def _groups(settings: Settings, stream_id: str, lease: float) -> Items[RolloutGroup]:
    return _deliver(settings, stream_id, 1, lease, lambda batch: batch[0])


def _deliver_batches(settings: Settings, stream_id: str, size: int, lease: float) -> Items[list[RolloutGroup]]:
    if size < 1:
        raise InvalidArgument(f"size: expected 1 or more, got {size!r}")
    return _deliver(settings, stream_id, size, lease, lambda batch: batch)


def _convert_to_camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)


@suggests_keywords_of_methods
class Rollouts:
    """Groups of trajectories for a training. Raises as `Client` does.

    for group in muster.rollouts("qwen.yaml", "code", group_size=8, concurrency=64, max_staleness=1, batch=4):
        ...
    """

    def __init__(self, settings: Settings, driver: BlockingDriver) -> None:
        self._settings = settings
        self._driver = driver

    def __call__(
        self,
        agent: CheckpointLike,
        suite: SuiteLike,
        *,
        lease: float = DEFAULT_LEASE_SECONDS,
        **options: Unpack[RolloutOptions],
    ) -> Iterator[RolloutGroup]:
        """Begins a stream, and ends it when the loop is left. Each group is acknowledged when the next one is asked for.

        @param agent: the file that says what the model is, as `evaluate` takes a checkpoint.
        @param lease: seconds after which a group that is not acknowledged comes again.
        Raises as `evaluate` does; RolloutsFailed; LeaseLost.
        """
        stream = self.start(agent, suite, **options)
        try:
            yield from self.groups(stream.id, lease=lease)
        finally:
            self.cancel(stream.id)

    def start(self, agent: CheckpointLike, suite: SuiteLike, **options: Unpack[RolloutOptions]) -> RolloutStream:
        """Begins a stream that continues even if this process ends. `groups` takes its groups."""
        return self._driver.run(_start(self._settings, agent, suite, options))

    def groups(self, stream_id: str, *, lease: float = DEFAULT_LEASE_SECONDS) -> Iterator[RolloutGroup]:
        """Yields the groups of a stream until it is over, including those that an earlier trainer has not acknowledged."""
        return self._driver.iterate(_groups(self._settings, stream_id, lease))

    def batches(self, stream_id: str, size: int, *, lease: float = DEFAULT_LEASE_SECONDS) -> Iterator[builtins.list[RolloutGroup]]:
        """Yields several groups at a time. A batch is acknowledged when the next one is requested."""
        return self._driver.iterate(_deliver_batches(self._settings, stream_id, size, lease))

    def get(self, stream_id: str) -> RolloutStream:
        """Returns the present state of a stream."""
        return self._driver.run(_find(self._settings, "GET", stream_id))

    def list(self) -> builtins.list[RolloutStream]:
        """Returns the streams, the latest first."""
        return self._driver.run(_list(self._settings))

    def cancel(self, stream_id: str) -> RolloutStream:
        """Ends a stream. One that is over stays as it is."""
        return self._driver.run(_find(self._settings, "DELETE", stream_id))

    def report_version(self, policy: str, version: int, *, endpoint: str | None = None) -> None:
        """Reports that a policy has a new version. @param endpoint: the name of the model server that has it from now on."""
        self._driver.run(_tell(self._settings, policy, version, endpoint))


@suggests_keywords_of_methods
class AsyncRollouts:
    """As `Rollouts`, for asyncio.

    async for group in muster.rollouts("qwen.yaml", "code", group_size=8, concurrency=64, max_staleness=1, batch=4):
        ...
    """

    def __init__(self, settings: Settings, driver: AwaitingDriver) -> None:
        self._settings = settings
        self._driver = driver

    async def __call__(
        self,
        agent: CheckpointLike,
        suite: SuiteLike,
        *,
        lease: float = DEFAULT_LEASE_SECONDS,
        **options: Unpack[RolloutOptions],
    ) -> AsyncIterator[RolloutGroup]:
        """Begins a stream, and ends it when the loop is left. Each group is acknowledged when the next one is asked for.

        @param agent: the file that says what the model is, as `evaluate` takes a checkpoint.
        @param lease: seconds after which a group that is not acknowledged comes again.
        Raises as `evaluate` does; RolloutsFailed; LeaseLost.
        """
        stream = await self.start(agent, suite, **options)
        groups = self.groups(stream.id, lease=lease)
        try:
            async for group in groups:
                yield group
        finally:
            await self.cancel(stream.id)

    async def start(self, agent: CheckpointLike, suite: SuiteLike, **options: Unpack[RolloutOptions]) -> RolloutStream:
        """Begins a stream that continues even if this process ends. `groups` takes its groups."""
        return await self._driver.run(_start(self._settings, agent, suite, options))

    def groups(self, stream_id: str, *, lease: float = DEFAULT_LEASE_SECONDS) -> AsyncIterator[RolloutGroup]:
        """Yields the groups of a stream until it is over, including those that an earlier trainer has not acknowledged."""
        return self._driver.iterate(_groups(self._settings, stream_id, lease))

    def batches(self, stream_id: str, size: int, *, lease: float = DEFAULT_LEASE_SECONDS) -> AsyncIterator[builtins.list[RolloutGroup]]:
        """Yields several groups at a time. A batch is acknowledged when the next one is requested."""
        return self._driver.iterate(_deliver_batches(self._settings, stream_id, size, lease))

    async def get(self, stream_id: str) -> RolloutStream:
        """Returns the present state of a stream."""
        return await self._driver.run(_find(self._settings, "GET", stream_id))

    async def list(self) -> builtins.list[RolloutStream]:
        """Returns the streams, the latest first."""
        return await self._driver.run(_list(self._settings))

    async def cancel(self, stream_id: str) -> RolloutStream:
        """Ends a stream. One that is over stays as it is."""
        return await self._driver.run(_find(self._settings, "DELETE", stream_id))

    async def report_version(self, policy: str, version: int, *, endpoint: str | None = None) -> None:
        """Reports that a policy has a new version. @param endpoint: the name of the model server that has it from now on."""
        await self._driver.run(_tell(self._settings, policy, version, endpoint))

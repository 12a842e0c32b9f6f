"""Plays tasks: the calls, and the part of both clients that makes them."""

import builtins
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from muster_client.agent_episode import (
    AgentEpisode,
    AgentReward,
    AgentStep,
    EpisodeDiff,
    StartedEpisode,
    read_agent_episode,
    read_diff,
    read_reward,
    read_started,
    read_step,
)
from muster_client.arguments import assert_is, quote_part
from muster_client.awaiting import AwaitingDriver
from muster_client.blocking import BlockingDriver
from muster_client.calls import SLOW_ANSWER_SECONDS, call
from muster_client.effects import Emit, Items, Request, Steps
from muster_client.fields import parse_fields
from muster_client.settings import Settings
from muster_client.submission import build_json_request

_WAIT_SECONDS = 60


def _build_path(episode_id: str, part: str = "") -> str:
    return f"/v1/episodes/{quote_part('episode_id', episode_id, 'text, the `id` of what `start` returned')}{part}"


def _start(settings: Settings, task: str, agent: str, seed: int) -> Steps[StartedEpisode]:
    """Begins an episode. It is not repeated, because that would begin two."""
    request = build_json_request("POST", "/v1/episodes", {"task": task, "agent": agent, "seed": seed})
    response = yield from call(settings, request, repeatable=False, answer_seconds=SLOW_ANSWER_SECONDS)
    return read_started(parse_fields(response.body, "episode"))


def _step(settings: Settings, episode_id: str, number: int, action: Mapping[str, Any]) -> Steps[AgentStep]:
    """Takes a step. It may be repeated: a step that was taken has the same answer."""
    assert_is("action", action, Mapping, 'a mapping such as {"action": "run", "command": "ls"}')
    request = build_json_request("POST", _build_path(episode_id, "/steps"), {**action, "step": number})
    response = yield from call(settings, request, answer_seconds=SLOW_ANSWER_SECONDS)
    return read_step(parse_fields(response.body, "step"))


def _get_reward(settings: Settings, episode_id: str) -> Steps[AgentReward]:
    while True:
        request = Request("GET", _build_path(episode_id, f"/reward?wait={_WAIT_SECONDS}"))
        response = yield from call(settings, request, answer_seconds=2.0 * _WAIT_SECONDS)
        if response.status == 200:
            return read_reward(parse_fields(response.body, "reward"))


def _find(settings: Settings, method: str, episode_id: str) -> Steps[AgentEpisode]:
    response = yield from call(settings, Request(method, _build_path(episode_id)))
    return read_agent_episode(parse_fields(response.body, "episode"))


def _fork(settings: Settings, episode_id: str, at: int | None, n: int, agent: str | None) -> Steps[list[AgentEpisode]]:
    """Forks an episode. It is not repeated, because that would make more forks."""
    given = {"at": at, "n": n, "agent": agent}
    body = {name: value for name, value in given.items() if value is not None}
    response = yield from call(settings, build_json_request("POST", _build_path(episode_id, "/fork"), body), repeatable=False)
    return [read_agent_episode(item) for item in parse_fields(response.body, "forks").objects("items")]


def _compared(settings: Settings, episode_id: str, start: int, at: int | None) -> Steps[EpisodeDiff]:
    query = {"from": str(start), **({} if at is None else {"at": str(at)})}
    response = yield from call(settings, Request("GET", _build_path(episode_id, f"/diff?{urlencode(query)}")))
    return read_diff(parse_fields(response.body, "diff"))


def _list(settings: Settings, filters: Mapping[str, str]) -> Items[AgentEpisode]:
    after: str | None = None
    while True:
        query = {**filters, **({} if after is None else {"after": after})}
        response = yield from call(settings, Request("GET", f"/v1/episodes?{urlencode(query)}"))
        page = parse_fields(response.body, "page")
        for item in page.objects("items"):
            yield Emit(read_agent_episode(item))
        after = page.optional("next", page.text)
        if after is None:
            return


def _build_filters(task: str | None, agent: str | None, state: str | None, least_reward: float | None) -> dict[str, str]:
    given = {"task": task, "agent": agent, "state": state, "leastReward": least_reward}
    return {name: str(value) for name, value in given.items() if value is not None}


class Arena:
    """Plays the server's tasks, for an agent that runs in this process. Raises as `Client` does."""

    def __init__(self, settings: Settings, driver: BlockingDriver) -> None:
        self._settings = settings
        self._driver = driver

    def start(self, task: str, agent: str, *, seed: int = 0) -> StartedEpisode:
        """Begins an episode. @param agent: a name by which episodes can be listed."""
        return self._driver.run(_start(self._settings, task, agent, seed))

    def step(self, episode_id: str, number: int, action: Mapping[str, Any]) -> AgentStep:
        """Takes a step. @param number: the number of the step, from 1. @param action: `{"action": "run", "command": "ls"}`."""
        return self._driver.run(_step(self._settings, episode_id, number, action))

    def reward(self, episode_id: str) -> AgentReward:
        """Waits until a submitted episode is graded, and returns its reward."""
        return self._driver.run(_get_reward(self._settings, episode_id))

    def get(self, episode_id: str) -> AgentEpisode:
        """Returns one episode."""
        return self._driver.run(_find(self._settings, "GET", episode_id))

    def list(
        self, *, task: str | None = None, agent: str | None = None, state: str | None = None, least_reward: float | None = None
    ) -> Iterator[AgentEpisode]:
        """Yields episodes, the latest first. Pages are requested as they are needed. @param least_reward: only episodes with at least this
        reward.
        """
        return self._driver.iterate(_list(self._settings, _build_filters(task, agent, state, least_reward)))

    def fork(self, episode_id: str, *, at: int | None = None, n: int = 1, agent: str | None = None) -> builtins.list[AgentEpisode]:
        """Makes episodes that continue after a step. @param at: the step's number, 0 for the beginning; by default the last step."""
        return self._driver.run(_fork(self._settings, episode_id, at, n, agent))

    def diff(self, episode_id: str, *, start: int = 0, at: int | None = None) -> EpisodeDiff:
        """Returns the changes of files between two steps; by default from the beginning until now."""
        return self._driver.run(_compared(self._settings, episode_id, start, at))

    def cancel(self, episode_id: str) -> AgentEpisode:
        """Cancels an episode. A closed one stays as it is."""
        return self._driver.run(_find(self._settings, "DELETE", episode_id))


class AsyncArena:
    """Does the same as `Arena`, for asyncio."""

    def __init__(self, settings: Settings, driver: AwaitingDriver) -> None:
        self._settings = settings
        self._driver = driver

    async def start(self, task: str, agent: str, *, seed: int = 0) -> StartedEpisode:
        """Begins an episode. @param agent: a name by which episodes can be listed."""
        return await self._driver.run(_start(self._settings, task, agent, seed))

    async def step(self, episode_id: str, number: int, action: Mapping[str, Any]) -> AgentStep:
        """Takes a step. @param number: the number of the step, from 1. @param action: `{"action": "run", "command": "ls"}`."""
        return await self._driver.run(_step(self._settings, episode_id, number, action))

    async def reward(self, episode_id: str) -> AgentReward:
        """Waits until a submitted episode is graded, and returns its reward."""
        return await self._driver.run(_get_reward(self._settings, episode_id))

    async def get(self, episode_id: str) -> AgentEpisode:
        """Returns one episode."""
        return await self._driver.run(_find(self._settings, "GET", episode_id))

    def list(
        self, *, task: str | None = None, agent: str | None = None, state: str | None = None, least_reward: float | None = None
    ) -> AsyncIterator[AgentEpisode]:
        """Yields episodes, the latest first. Pages are requested as they are needed. @param least_reward: only episodes with at least this
        reward.
        """
        return self._driver.iterate(_list(self._settings, _build_filters(task, agent, state, least_reward)))

    async def fork(self, episode_id: str, *, at: int | None = None, n: int = 1, agent: str | None = None) -> builtins.list[AgentEpisode]:
        """Makes episodes that continue after a step. @param at: the step's number, 0 for the beginning; by default the last step."""
        return await self._driver.run(_fork(self._settings, episode_id, at, n, agent))

    async def diff(self, episode_id: str, *, start: int = 0, at: int | None = None) -> EpisodeDiff:
        """Returns the changes of files between two steps; by default from the beginning until now."""
        return await self._driver.run(_compared(self._settings, episode_id, start, at))

    async def cancel(self, episode_id: str) -> AgentEpisode:
        """Cancels an episode. A closed one stays as it is."""
        return await self._driver.run(_find(self._settings, "DELETE", episode_id))

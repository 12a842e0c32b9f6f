"""Plays one episode of the server's arena, for loops that sample by themselves and call tools in the form of chat completions."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from muster_client import AsyncClient, Client, MusterError, StartedEpisode

_OVER = "The work is submitted: nothing more can be done."


class NoVerdict(MusterError):
    """An episode that the infrastructure spoilt. It has no reward, which must not count as 0."""


class TaskPlay:
    """An episode that has begun. Make its calls one after the other. Raises as the client does."""

    def __init__(self, client: AsyncClient, episode: str, steps: int = 0, is_over: bool = False) -> None:
        self.episode = episode
        self.steps = steps
        self.is_over = is_over
        self._client = client

    @classmethod
    async def begin(cls, client: AsyncClient, task: str, agent: str, seed: int = 0) -> tuple[Self, StartedEpisode]:
        """Begins an episode. Returns it with the instruction and the tools of the task."""
        started = await client.arena.start(task, agent=agent, seed=seed)
        return cls(client, started.id), started

    def through(self, client: AsyncClient) -> Self:
        """Continues the episode through another client."""
        self._client = client
        return self

    async def call(self, name: str, arguments: str | Mapping[str, Any]) -> str:
        """Calls a tool. Returns the text that the model reads, also for a malformed call."""
        if self.is_over:
            return _OVER
        given = _read_arguments(arguments)
        if given is None:
            return f'Not done (malformed): the arguments of {name} are no JSON object; expected one, such as {{"name": "value"}}.'
        step = await self._client.arena.step(self.episode, self.steps + 1, {**given, "action": name})
        self.steps, self.is_over = self.steps + 1, step.done
        return step.observation

    async def grade(self) -> float:
        """Submits the work, unless that has been done, and waits for the reward. Raises NoVerdict."""
        if not self.is_over:
            await self.call("submit", {})
        graded = await self._client.arena.reward(self.episode)
        if graded.reward is None:
            raise NoVerdict(f"episode {self.episode} has no reward: {graded.problem or graded.outcome}")
        return graded.reward


@dataclass(frozen=True, slots=True)
class TaskDescription:
    task: str
    instruction: str
    tools: list[dict[str, Any]]
    """In the form of chat completions."""


def describe_tasks(client: Client, tasks: list[str], agent: str) -> list[TaskDescription]:
    """Returns the instruction and the tools of each task. It begins an episode of each, and cancels it."""
    found = []
    for task in tasks:
        started = client.arena.start(task, agent=agent)
        client.arena.cancel(started.id)
        found.append(TaskDescription(task, started.observation, to_chat_tools(started.tools)))
    return found


def to_chat_tools(tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"type": "function", "function": tool} for tool in tools]


def append_instruction(prompt: str | list[dict[str, Any]], instruction: str) -> list[dict[str, Any]]:
    """Appends the instruction to the last message."""
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    *first, last = messages or [{"role": "user", "content": ""}]
    return [*first, {**last, "content": "\n\n".join(part for part in (last["content"], instruction) if part)}]


def _read_arguments(arguments: str | Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Parses the arguments. An empty text counts as no arguments, because models leave them out for a tool that has none."""
    if isinstance(arguments, Mapping):
        return arguments
    try:
        value = json.loads(arguments.strip() or "{}")
    except ValueError:
        return None
    return value if isinstance(value, dict) else None

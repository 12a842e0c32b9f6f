"""One episode of the server's arena, for loops that sample by themselves and call tools as chat completions have them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from muster_client import AsyncClient, Client, MusterError, StartedEpisode

_OVER = "The work is submitted: nothing more can be done."


class NoVerdict(MusterError):
    """The infrastructure spoilt an episode, so there is no reward: it may not count as 0."""


class TaskPlay:
    """An episode that has begun. Make its calls one after the other. Raises as the client does."""

    def __init__(self, client: AsyncClient, episode: str, steps: int = 0, is_over: bool = False) -> None:
        self.episode = episode
        self.steps = steps
        self.is_over = is_over
        self._client = client

    @classmethod
    async def begin(cls, client: AsyncClient, task: str, agent: str, seed: int = 0) -> tuple[Self, StartedEpisode]:
        """With the instruction and the tools of the task."""
        started = await client.arena.start(task, agent=agent, seed=seed)
        return cls(client, started.id), started

    def through(self, client: AsyncClient) -> Self:
        """The same episode, by another client from now on."""
        self._client = client
        return self

    async def call(self, name: str, arguments: str | Mapping[str, Any]) -> str:
        """Calls a tool. Returns what the model reads, also of a call that is malformed."""
        if self.is_over:
            return _OVER
        given = _read_arguments(arguments)
        if given is None:
            return f'Not done (malformed): the arguments of {name} are no JSON object; expected one, such as {{"name": "value"}}.'
        step = await self._client.arena.step(self.episode, self.steps + 1, {**given, "action": name})
        self.steps, self.is_over = self.steps + 1, step.done
        return step.observation

    async def grade(self) -> float:
        """Submits what is not submitted, and waits for the reward. Raises NoVerdict."""
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
    """Instruction and tools of each task. Begins an episode of each, and gives it up."""
    found = []
    for task in tasks:
        started = client.arena.start(task, agent=agent)
        client.arena.cancel(started.id)
        found.append(TaskDescription(task, started.observation, to_chat_tools(started.tools)))
    return found


def to_chat_tools(tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"type": "function", "function": tool} for tool in tools]


def append_instruction(prompt: str | list[dict[str, Any]], instruction: str) -> list[dict[str, Any]]:
    """Messages in which the instruction is appended to the last one."""
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    *first, last = messages or [{"role": "user", "content": ""}]
    return [*first, {**last, "content": "\n\n".join(part for part in (last["content"], instruction) if part)}]


def _read_arguments(arguments: str | Mapping[str, Any]) -> Mapping[str, Any] | None:
    """No text counts as no arguments: models leave them out where a tool has none."""
    if isinstance(arguments, Mapping):
        return arguments
    try:
        value = json.loads(arguments.strip() or "{}")
    except ValueError:
        return None
    return value if isinstance(value, dict) else None

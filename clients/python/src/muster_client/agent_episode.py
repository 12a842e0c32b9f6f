"""Episodes in which agents play tasks."""

from dataclasses import dataclass, field
from typing import Any

from muster_client.fields import Fields


@dataclass(frozen=True, slots=True)
class StartedEpisode:
    id: str
    observation: str
    """The instruction."""
    tools: list[dict[str, Any]]
    """Actions with their JSON Schemas, in the form of tools of chat completions: `name`, `description`, `parameters`."""
    raw: dict[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class AgentStep:
    number: int
    observation: str
    data: dict[str, Any]
    """The observation as data, for programs."""
    done: bool
    """Whether the episode accepts no more steps."""
    truncated: bool
    """Whether a limit has ended the episode."""
    notice: str | None
    raw: dict[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class AgentReward:
    reward: float | None
    """None when there is no reward; `problem` then states the reason."""
    outcome: str
    """`rewarded`, `failed` or `void`."""
    tests_passed: int
    total_tests: int
    problem: str | None
    raw: dict[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class AgentEpisode:
    id: str
    task: str
    agent: str
    state: str
    """`open`, `grading` or `closed`."""
    steps: int
    outcome: str | None
    reward: float | None
    raw: dict[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class EpisodeDiff:
    changes: dict[str, str]
    """The kind of change by path: `added`, `changed` or `removed`."""
    patch: str
    """A unified diff, without binary and large files."""
    raw: dict[str, Any] = field(repr=False)


def read_diff(fields: Fields) -> EpisodeDiff:
    changes = {item.text("path"): item.text("change") for item in fields.objects("files")}
    return EpisodeDiff(changes, fields.text("patch"), fields.raw)


def read_started(fields: Fields) -> StartedEpisode:
    tools = [tool.raw for tool in fields.objects("actions")]
    return StartedEpisode(fields.text("episode"), fields.object("observation").text("text"), tools, fields.raw)


def read_step(fields: Fields) -> AgentStep:
    observation = fields.object("observation")
    return AgentStep(
        number=fields.whole("step"),
        observation=observation.text("text"),
        data=observation.object("data").raw,
        done=fields.flag("done"),
        truncated=fields.flag("truncated"),
        notice=fields.optional("notice", fields.text),
        raw=fields.raw,
    )


def read_reward(fields: Fields) -> AgentReward:
    return AgentReward(
        reward=fields.optional("reward", fields.number),
        outcome=fields.text("outcome"),
        tests_passed=fields.whole("tests_passed"),
        total_tests=fields.whole("total_tests"),
        problem=fields.optional("problem", fields.text),
        raw=fields.raw,
    )


def read_agent_episode(fields: Fields) -> AgentEpisode:
    return AgentEpisode(
        id=fields.text("episode"),
        task=fields.text("task"),
        agent=fields.text("agent"),
        state=fields.text("state"),
        steps=fields.whole("steps"),
        outcome=fields.optional("outcome", fields.text),
        reward=fields.optional("reward", fields.number),
        raw=fields.raw,
    )

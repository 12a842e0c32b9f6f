"""Parses the frames that Muster sends, and encodes those that the runner sends (version 2 of the runner protocol)."""

import json
from dataclasses import dataclass
from typing import Any, Literal

from muster_runner.json_fields import (
    FieldError,
    Object,
    as_choice,
    as_count,
    as_flag,
    as_list,
    as_object,
    as_positive_number,
    as_text,
    parse_object,
    required,
)

PROTOCOL_VERSION = 2
MAX_RUNNER_FRAME_BYTES = 64 * 1024
MAX_MUSTER_FRAME_BYTES = 1024 * 1024
# In characters: still readable for a person, and well below Muster's bound for one field.
MAX_TEXT = 4096
MAX_SEED = 2**32 - 1
MAX_WIDTH = 4096

# One encoder for all frames: making one takes longer than encoding a frame.
ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))

Outgoing = dict[str, Any]


class ProtocolError(Exception):
    """A frame that Muster should never send: a defect of Muster or of this runner, not of a policy or an environment."""


@dataclass(frozen=True)
class EntryPoint:
    """A callable: `module:name`, or `gymnasium:ID` for a registered environment."""

    entry: str
    kwargs: Object


@dataclass(frozen=True)
class Task:
    name: str
    environment: EntryPoint
    wrappers: tuple[EntryPoint, ...]


@dataclass(frozen=True)
class Batching:
    """The way in which the episodes of a block are played together. Without it, episodes are played one by one."""

    form: Literal["lockstep", "vector"]
    # Number of rows that are played side by side.
    width: int
    # Number of episodes of a block: as many as rows in the vector form, at least as many in lockstep.
    episodes: int
    # Seconds of the runner's time that one episode may take.
    episode_seconds: float


@dataclass(frozen=True)
class Load:
    load: int
    path: str
    digest: str
    # Whether Muster has verified that the content has this digest, so that the runner need not.
    verified: bool
    code: str | None
    tasks: tuple[Task, ...]
    actions: Literal["deterministic", "stochastic"]
    metrics: tuple[str, ...]
    batching: Batching | None
    # Environment seed of the episode whose rewards and pictures are sent, too.
    recorded_seed: int | None = None


@dataclass(frozen=True)
class Episode:
    index: int
    # Position in the tasks of the load.
    task: int
    environment_seed: int
    policy_seed: int


@dataclass(frozen=True)
class Play:
    range: int
    episodes: tuple[Episode, ...]


@dataclass(frozen=True)
class Ping:
    ping: int


def parse(line: bytes) -> Load | Play | Ping:
    """Parses a line. @raises ProtocolError naming what is wrong."""
    if len(line) > MAX_MUSTER_FRAME_BYTES:
        raise ProtocolError(f"a line of more than {MAX_MUSTER_FRAME_BYTES} bytes")
    try:
        frame = parse_object(line, "the frame")
        kind = as_choice(required(frame, "type", "the frame"), "type", ("load", "play", "ping"))
        if kind == "load":
            return _load(frame)
        if kind == "play":
            return _play(frame)
        return Ping(as_count(required(frame, "ping", kind), "ping"))
    except FieldError as error:
        raise ProtocolError(str(error)) from None


def _load(frame: Object) -> Load:
    policy = as_object(required(frame, "policy", "load"), "policy")
    code = required(frame, "code", "load")
    actions = as_choice(required(frame, "actions", "load"), "actions", ("deterministic", "stochastic"))
    tasks = as_list(required(frame, "tasks", "load"), "tasks")
    metrics = as_list(required(frame, "metrics", "load"), "metrics")
    return Load(
        load=as_count(required(frame, "load", "load"), "load"),
        path=as_text(required(policy, "path", "policy"), "policy.path"),
        digest=as_text(required(policy, "digest", "policy"), "policy.digest"),
        verified=as_flag(policy.get("verified", False), "policy.verified"),
        code=None if code is None else as_text(code, "code"),
        tasks=tuple(_parse_task(as_object(task, f"tasks[{i}]"), f"tasks[{i}]") for i, task in enumerate(tasks)),
        actions="deterministic" if actions == "deterministic" else "stochastic",
        metrics=tuple(as_text(name, f"metrics[{i}]") for i, name in enumerate(metrics)),
        batching=None if "batching" not in frame else _parse_batching(as_object(frame["batching"], "batching")),
        recorded_seed=None if "recordedSeed" not in frame else as_count(frame["recordedSeed"], "recordedSeed"),
    )


def _parse_batching(value: Object) -> Batching:
    form = as_choice(required(value, "form", "batching"), "batching.form", ("lockstep", "vector"))
    width = as_count(required(value, "width", "batching"), "batching.width")
    episodes = as_count(required(value, "episodes", "batching"), "batching.episodes")
    if not 1 <= width <= MAX_WIDTH:
        raise FieldError(f"batching.width is {width}, expected 1 to {MAX_WIDTH}")
    if episodes < width or (form == "vector" and episodes != width):
        expected = f"{width}, a vector's width" if form == "vector" else f"at least the width, {width}"
        raise FieldError(f"batching.episodes is {episodes}, expected {expected}")
    seconds = as_positive_number(required(value, "episodeSeconds", "batching"), "batching.episodeSeconds")
    return Batching("lockstep" if form == "lockstep" else "vector", width, episodes, seconds)


def _parse_task(task: Object, where: str) -> Task:
    environment = as_object(required(task, "environment", where), f"{where}.environment")
    wrappers = as_list(required(environment, "wrappers", f"{where}.environment"), f"{where}.environment.wrappers")
    return Task(
        name=as_text(required(task, "name", where), f"{where}.name"),
        environment=_parse_entry_point(environment, f"{where}.environment"),
        wrappers=tuple(_parse_entry_point(as_object(wrapper, "wrapper"), "wrapper") for wrapper in wrappers),
    )


def _parse_entry_point(value: Object, where: str) -> EntryPoint:
    entry = as_text(required(value, "entry", where), f"{where}.entry")
    return EntryPoint(entry, as_object(required(value, "kwargs", where), f"{where}.kwargs"))


def _play(frame: Object) -> Play:
    episodes = as_list(required(frame, "episodes", "play"), "episodes")
    if not episodes:
        raise FieldError("episodes is empty, expected at least one")
    return Play(
        range=as_count(required(frame, "range", "play"), "range"),
        episodes=tuple(_parse_episode(episode) for episode in episodes),
    )


def _parse_episode(value: Any) -> Episode:
    fields = as_list(value, "an episode")
    if len(fields) != 4:
        raise FieldError(f"an episode has {len(fields)} fields, expected index, task, environment seed, policy seed")
    episode = Episode(*(as_count(field, "a field of an episode") for field in fields))
    if max(episode.environment_seed, episode.policy_seed) > MAX_SEED:
        raise FieldError(f"a seed of episode {episode.index} exceeds {MAX_SEED}")
    return episode


def encode(frame: Outgoing) -> bytes:
    """Encodes a frame as one line of at most MAX_RUNNER_FRAME_BYTES. Texts that are too long for it are shortened in the middle."""
    line = _format_line(frame)
    for limit in (MAX_TEXT, 256):
        if len(line) <= MAX_RUNNER_FRAME_BYTES:
            break
        line = _format_line({name: shorten(value, limit) if isinstance(value, str) else value for name, value in frame.items()})
    return line


def _format_line(frame: Outgoing) -> bytes:
    # UTF-8 cannot encode lone surrogates, such as those of undecodable bytes in a message.
    return ENCODER.encode(frame).encode("utf-8", "replace") + b"\n"


def shorten(text: str, limit: int = MAX_TEXT) -> str:
    """Returns a text of at most `limit` characters: the beginning and the end of a longer one."""
    if len(text) <= limit:
        return text
    mark = "\n[…]\n"
    half = (limit - len(mark)) // 2
    return text[:half] + mark + text[-half:]

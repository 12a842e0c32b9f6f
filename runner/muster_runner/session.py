"""The conversation with Muster, from `ready` to the end of the input."""

import gc
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING

from muster_runner.blocks.block_player import BlockPlayer
from muster_runner.channel import Channel
from muster_runner.environments import Record
from muster_runner.episode import Completed, Failed, Outcome, fail_episode, play
from muster_runner.frames import PROTOCOL_VERSION, Episode, Load, Outgoing, Ping, Play, ProtocolError, parse, shorten
from muster_runner.loading import Loaded, LoadedTask, load
from muster_runner.nan_observations import NAN_REMARK
from muster_runner.prints import EpisodePrints
from muster_runner.refusal import Refusal
from muster_runner.shared_memory import is_memory_shared

if TYPE_CHECKING:
    from muster_runner.apart.policy_link import PolicyLink

RUNNER_NAME = "muster-python/1.1"
MAX_WARNINGS = 16
# In characters.
MAX_WARNING = 1000


@dataclass
class Session:
    """Handles requests in their order. Only pings are answered earlier, between two episodes."""

    channel: Channel
    prints: EpisodePrints
    policy: "PolicyLink | None" = None
    """The line to the policy's program; None where the policy is played in this one."""
    _loaded: Loaded | None = None
    _is_forked: bool = field(default_factory=is_memory_shared)
    """Whether objects from before the first load are shared with other processes. The garbage collector must then not write to them."""
    _waiting: deque[Load | Play] = field(default_factory=deque)

    def run(self) -> None:
        """Handles requests. Returns at the end of the input.

        @raises ProtocolError on a frame that Muster should not have sent; OSError when Muster no longer reads.
        """
        self.channel.send({"type": "ready", "protocol": PROTOCOL_VERSION, "runner": RUNNER_NAME})
        while not self.channel.ended:
            self._sort(self.channel.wait())
            while self._waiting and not self.channel.ended:
                frame = self._waiting.popleft()
                match frame:
                    case Load():
                        self._load(frame)
                    case Play():
                        self._play(frame)

    def _sort(self, lines: list[bytes]) -> None:
        """Answers pings, and queues all other requests."""
        for line in lines:
            frame = parse(line)
            if isinstance(frame, Ping):
                self.channel.send({"type": "pong", "ping": frame.ping})
            else:
                self._waiting.append(frame)

    def _load(self, request: Load) -> None:
        self._unload()
        try:
            self._loaded = load(request, self.policy, self._make_recorder(request.recorded_seed))
        except Refusal as refusal:
            message = shorten(str(refusal))
            self.channel.send({"type": "refused", "load": request.load, "part": refusal.part, "message": message})
        else:
            loaded: Outgoing = {"type": "loaded", "load": request.load, "digest": self._loaded.digest}
            if self._loaded.warnings:
                loaded["warnings"] = [shorten(warning, MAX_WARNING) for warning in self._loaded.warnings[:MAX_WARNINGS]]
            self.channel.send(loaded)
        # Output of the load belongs to no episode, so it goes to the error output only.
        self.prints.take()
        gc.collect()
        if not self._is_forked:
            # All present objects stay alive, so the garbage collector need not visit them again.
            gc.freeze()

    def _make_recorder(self, seed: int | None) -> Record | None:
        if seed is None:
            return None
        # Few loads record, and the import would cost time in every sandbox.
        from muster_runner.recording import record_with

        return record_with(seed, self.channel.send)

    def _unload(self) -> None:
        """Frees the former load first, because both at once might not fit into the sandbox's memory."""
        if self._loaded is None:
            return
        if not self._is_forked:
            gc.unfreeze()
        self._loaded.unload()
        self._loaded = None
        gc.collect()

    def _play(self, request: Play) -> None:
        loaded = self._loaded
        if loaded is None:
            raise ProtocolError("a play without a load before it")
        for episode in request.episodes:
            if episode.task >= loaded.task_count:
                raise ProtocolError(f"episode {episode.index} is of task {episode.task}, the load has {loaded.task_count}")
        if len(request.episodes) % loaded.block_episodes:
            raise ProtocolError(f"a range has {len(request.episodes)} episodes, expected whole blocks of {loaded.block_episodes}")
        self.channel.send({"type": "begin", "range": request.range, "digest": loaded.digest})
        for begin in range(0, len(request.episodes), loaded.block_episodes):
            if loaded.blocks is None:
                self._play_one(loaded, request.range, request.episodes[begin])
            else:
                block = request.episodes[begin : begin + loaded.block_episodes]
                self.channel.send_all(play_block(loaded.blocks, request.range, block, self.prints))
            self._sort(self.channel.arrived())
            if self.channel.ended:
                return

    def _play_one(self, loaded: Loaded, range_id: int, episode: Episode) -> None:
        started = perf_counter()
        outcome = play_task(loaded.tasks[episode.task], episode, loaded.metrics)
        seconds = perf_counter() - started
        self.channel.send(build_outcome_frame(range_id, episode.index, outcome, seconds, self.prints.take()))


def play_block(player: BlockPlayer, range_id: int, episodes: Sequence[Episode], prints: EpisodePrints) -> list[Outgoing]:
    """Plays a block, and returns its outcomes. Each episode gets an equal share of the block's time."""
    started = perf_counter()
    played = player.play(episodes, prints)
    seconds = (perf_counter() - started) / len(episodes)
    forward = played.forward_seconds / len(episodes)
    return [
        build_outcome_frame(range_id, episode.index, outcome, seconds, log, forward)
        for episode, outcome, log in zip(episodes, played.outcomes, played.logs, strict=True)
    ]


def play_task(task: LoadedTask, episode: Episode, metrics: tuple[str, ...]) -> Outcome:
    try:
        environment = task.environment()
    except BaseException as error:
        return fail_episode(error, "environment-crash")
    outcome = play(environment, task.policy, episode, metrics)
    if isinstance(outcome, Failed):
        # The environment may be in any state, so the next episode gets a new one.
        task.discard()
    task.played()
    return outcome


def build_outcome_frame(range_id: int, index: int, outcome: Outcome, seconds: float, log: str, forward: float | None = None) -> Outgoing:
    """@param forward: seconds in the policy, unless the outcome has its own."""
    episode: Outgoing = {"range": range_id, "index": index}
    match outcome:
        case Completed():
            frame = {
                "type": "completed",
                **episode,
                "return": outcome.total,
                "length": outcome.length,
                "metrics": outcome.metrics,
            }
            if outcome.saw_nan:
                frame["warnings"] = [NAN_REMARK]
            if outcome.forward is not None:
                # The estimate may exceed the episode's time, if the measured steps were slower than the others.
                forward = min(outcome.forward, seconds)
        case Failed():
            frame = {"type": "failed", **episode, "cause": outcome.cause, "detail": outcome.detail}
    frame["seconds"] = round(seconds, 6)
    if forward is not None:
        frame["forward"] = round(forward, 6)
    if log:
        frame["log"] = log
    return frame

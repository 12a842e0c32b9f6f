"""The conversation with Muster, from `ready` to the end of the input."""

import gc
from collections import deque
from dataclasses import dataclass, field
from time import perf_counter

from muster_runner.channel import Channel
from muster_runner.episode import Completed, Failed, failure, play
from muster_runner.frames import PROTOCOL_VERSION, Episode, Load, Outgoing, Ping, Play, ProtocolError, parse, shorten
from muster_runner.loading import Loaded, LoadedTask, load
from muster_runner.prints import EpisodePrints
from muster_runner.refusal import Refusal
from muster_runner.shared_memory import is_memory_shared

RUNNER_NAME = "muster-python/1.0"


@dataclass
class Session:
    """Does what it is told in the order in which it is told; only pings overtake, between two episodes."""

    channel: Channel
    prints: EpisodePrints
    _loaded: Loaded | None = None
    """What was there before the first load is shared with other processes, and the collector kept away from it."""
    _is_forked: bool = field(default_factory=is_memory_shared)
    _waiting: deque[Load | Play] = field(default_factory=deque)

    def run(self) -> None:
        """Returns at the end of the input.

        @raises ProtocolError on a frame that Muster never should have sent; OSError when Muster does not read any more.
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
        """Answers pings; everything else waits for its turn."""
        for line in lines:
            frame = parse(line)
            if isinstance(frame, Ping):
                self.channel.send({"type": "pong", "ping": frame.ping})
            else:
                self._waiting.append(frame)

    def _load(self, request: Load) -> None:
        self._unload()
        try:
            self._loaded = load(request)
        except Refusal as refusal:
            message = shorten(str(refusal))
            self.channel.send({"type": "refused", "load": request.load, "part": refusal.part, "message": message})
        else:
            self.channel.send({"type": "loaded", "load": request.load, "digest": self._loaded.digest})
        # What was printed while loading belongs to no episode; the error output has it.
        self.prints.take()
        gc.collect()
        if not self._is_forked:
            # What is here now stays: the collector need not walk through it again and again.
            gc.freeze()

    def _unload(self) -> None:
        """What the former load left behind goes first: both at once might not fit into the sandbox's memory."""
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
        self.channel.send({"type": "begin", "range": request.range})
        for episode in request.episodes:
            if episode.task >= len(loaded.tasks):
                raise ProtocolError(f"episode {episode.index} is of task {episode.task}, the load has {len(loaded.tasks)}")
            started = perf_counter()
            outcome = play_task(loaded.tasks[episode.task], episode, loaded.metrics)
            seconds = perf_counter() - started
            self.channel.send(outcome_frame(request.range, episode.index, outcome, seconds, self.prints.take()))
            self._sort(self.channel.arrived())
            if self.channel.ended:
                return


def play_task(task: LoadedTask, episode: Episode, metrics: tuple[str, ...]) -> Completed | Failed:
    try:
        environment = task.environment()
    except BaseException as error:
        return failure(error, "environment-crash")
    outcome = play(environment, task.policy, episode, metrics)
    if isinstance(outcome, Failed):
        # Whatever state it is in, the next episode must not feel it.
        task.discard()
    task.played()
    return outcome


def outcome_frame(range_id: int, index: int, outcome: Completed | Failed, seconds: float, log: str) -> Outgoing:
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
        case Failed():
            frame = {"type": "failed", **episode, "cause": outcome.cause, "detail": outcome.detail}
    frame["seconds"] = round(seconds, 6)
    if log:
        frame["log"] = log
    return frame

"""Answers Muster's requests, one after the other."""

from typing import TYPE_CHECKING

from muster_workspace import fields
from muster_workspace.channel import Channel
from muster_workspace.command import Command
from muster_workspace.files import Bounds, Incoming, Outgoing, wipe
from muster_workspace.interpreters import Interpreters
from muster_workspace.output import give
from muster_workspace.places import Refusal, explain
from muster_workspace.processes import Accounts, Remaining
from muster_workspace.running import RunningCommand
from muster_workspace.series import Series

if TYPE_CHECKING:
    from muster_workspace.agent_requests import AgentRequests
    from muster_workspace.started import StartedCommands

PROTOCOL = 1
# Seconds between two checks whether a command that continues to run has ended.
_LOOK_SECONDS = 1.0


def serve(channel: Channel, writable: tuple[str, ...], asking: int | None) -> None:
    """Serves requests until Muster closes its side."""
    session = _Session(channel, writable, asking)
    channel.send({"type": "ready", "protocol": PROTOCOL})
    while (frame := session.receive()) is not None:
        session.answer(frame)


class _Session:
    def __init__(self, channel: Channel, writable: tuple[str, ...], asking: int | None) -> None:
        self._channel = channel
        self._writable = writable
        self._incoming = Incoming(writable)
        self._agent: AgentRequests | None = None
        self._interpreters = Interpreters(writable, asking)
        self._input = bytearray()

    def receive(self) -> fields.Frame | None:
        """Waits for the next frame, and serves commands that continue to run meanwhile. Returns None once Muster has closed its side.

        If the next frame has arrived already, its answer is sent with the one before, because each write wakes Muster.
        """
        if (known := self._channel.pending()) is not None:
            return known
        self._channel.flush()
        while self._agent is not None and self._agent.started.runs:
            if (frame := self._channel.pending()) is not None:
                return frame
            if self._agent.started.wait(_LOOK_SECONDS, self._channel.source) and not self._channel.fill():
                return None
        return self._channel.receive()

    def answer(self, frame: fields.Frame) -> None:
        request = fields.whole(frame, "request")
        try:
            self._answer(frame, request)
        except Remaining as error:
            self._refused(request, explain(Refusal("processes", "", str(error)), ""))
        except (Refusal, OSError) as problem:
            self._refused(request, explain(problem, str(frame.get("path", ""))))

    def _answer(self, frame: fields.Frame, request: int) -> None:
        match fields.text(frame, "type"):
            case "ping":
                self._done(request)
            case "input":
                self._input += fields.data(frame, "data")
            case "exec":
                self._channel.flush()
                self._exec(frame, request)
            case "series":
                self._channel.flush()
                Series(frame, self._take_input(), self._writable).carry_out(self._channel, request, self._interpreters, self._beside)
                self._done(request)
            case "line" | "hangup":
                # The frame is for a command that has ended. Muster had not learnt of its end when it sent the frame.
                return
            case "put":
                self._put(frame, request)
            case "wipe":
                wipe(fields.text(frame, "path"), self._writable)
                self._done(request)
            case "collect":
                self._collect(frame, request)
            case kind:
                self._import_agent_requests().answer(frame, request, kind, self._take_input())

    def _exec(self, frame: fields.Frame, request: int) -> None:
        command = Command.read(frame, self._take_input())
        end, streams = RunningCommand(command, self._channel, request, self._interpreters, self._beside).run()
        self._channel.send({"type": "ended", "request": request, "bytes": give(self._channel, request, streams), **end})

    @property
    def _beside(self) -> "StartedCommands | None":
        return None if self._agent is None else self._agent.started

    def _put(self, frame: fields.Frame, request: int) -> None:
        is_last = fields.truth(frame, "last")
        path, mode, data = fields.text(frame, "path"), fields.whole(frame, "mode"), fields.data(frame, "data")
        self._incoming.put(path, mode, data, fields.truth(frame, "first"), is_last)
        if is_last:
            self._done(request)

    def _collect(self, frame: fields.Frame, request: int) -> None:
        accounts = Accounts()
        self._interpreters.end_others(accounts)
        if self._agent is not None:
            self._agent.started.settle(accounts)
        outgoing = Outgoing(self._channel, {"request": request}, Bounds(fields.whole(frame, "files"), fields.whole(frame, "bytes")))
        for path in fields.texts(frame, "paths"):
            outgoing.give(path)
        self._done(request)

    def _import_agent_requests(self) -> "AgentRequests":
        """Imports this part when it is first needed: in grading sandboxes, where no agent works, the import would only cost time."""
        if self._agent is None:
            from muster_workspace.agent_requests import AgentRequests

            self._agent = AgentRequests(self._channel, self._writable)
        return self._agent

    def _take_input(self) -> bytes:
        given = bytes(self._input)
        self._input.clear()
        return given

    def _done(self, request: int) -> None:
        self._channel.send({"type": "done", "request": request})

    def _refused(self, request: int, problem: dict[str, str]) -> None:
        self._channel.send({"type": "refused", "request": request, **problem})

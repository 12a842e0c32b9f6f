"""Answers what Muster asks, one request after the other."""

from muster_workspace import fields
from muster_workspace.changing import Change, Written
from muster_workspace.channel import Channel, ProtocolError
from muster_workspace.command import Command, RunningCommand
from muster_workspace.files import Bounds, Incoming, Outgoing, wipe
from muster_workspace.forked_python import Interpreters
from muster_workspace.looking import Looking
from muster_workspace.output import BoundedOutput
from muster_workspace.places import Refusal
from muster_workspace.processes import Accounts, Remaining
from muster_workspace.snapshots import Snapshots, arrange
from muster_workspace.started import StartedCommands

PROTOCOL = 1
# Between two looks at whether a command that runs on has ended.
_LOOK_SECONDS = 1.0


def serve(channel: Channel, writable: tuple[str, ...]) -> None:
    """Serve requests until Muster ends its side."""
    session = _Session(channel, writable)
    channel.send({"type": "ready", "protocol": PROTOCOL})
    while (frame := session.receive()) is not None:
        session.answer(frame)


class _Session:
    def __init__(self, channel: Channel, writable: tuple[str, ...]) -> None:
        self._channel = channel
        self._writable = writable
        self._incoming = Incoming(writable)
        self._looking = Looking(channel, writable)
        self._snapshots = Snapshots(channel, writable)
        self._interpreters = Interpreters(writable)
        self._started = StartedCommands()
        self._input = bytearray()

    def receive(self) -> fields.Frame | None:
        """Wait for the next frame, and let nothing wait that runs on meanwhile. None once Muster has ended its side."""
        while self._started.runs:
            if (frame := self._channel.pending()) is not None:
                return frame
            if self._started.wait(_LOOK_SECONDS, self._channel.source) and not self._channel.fill():
                return None
        return self._channel.receive()

    def answer(self, frame: fields.Frame) -> None:
        request = fields.whole(frame, "request")
        try:
            self._answer(frame, request)
        except Refusal as refusal:
            self._refused(request, refusal.kind, refusal.path, refusal.detail)
        except Remaining as error:
            self._refused(request, "processes", "", str(error))
        except OSError as error:
            self._refused(request, "failed", str(error.filename or frame.get("path", "")), error.strerror or str(error))

    def _answer(self, frame: fields.Frame, request: int) -> None:
        match fields.text(frame, "type"):
            case "ping":
                self._done(request)
            case "input":
                self._input += fields.data(frame, "data")
            case "exec":
                self._exec(frame, request)
            case "line" | "hangup":
                # For a command that has ended, which Muster had not heard of.
                return
            case "put":
                self._put(frame, request)
            case "wipe":
                wipe(fields.text(frame, "path"), self._writable)
                self._done(request)
            case "collect":
                self._collect(frame, request)
            case kind:
                self._answer_agent(frame, request, kind)

    def _answer_agent(self, frame: fields.Frame, request: int, kind: str) -> None:
        """What is asked while an agent works here: nothing of what it runs is ended."""
        match kind:
            case "read" | "list" | "search":
                self._look(frame, request, kind)
            case "start" | "poll" | "stop":
                self._run_on(frame, request, kind)
            case "change":
                self._change(frame, request)
            case "snapshot":
                self._snapshot(frame, request)
            case "arrange":
                directories, links, targets = (fields.texts(frame, name) for name in ("directories", "links", "targets"))
                arrange(directories, links, targets, self._writable)
                self._done(request)
            case other:
                raise ProtocolError(f"a frame of type {other!r}")

    def _exec(self, frame: fields.Frame, request: int) -> None:
        command = Command.read(frame, bytes(self._input))
        self._input.clear()
        end, streams = RunningCommand(command, self._channel, request, self._interpreters, self._started).run()
        self._channel.send({"type": "ended", "request": request, "bytes": self._give(streams, request), **end})

    def _give(self, streams: dict[str, BoundedOutput], request: int) -> dict[str, int]:
        """Send what was printed. Returns how much of each stream that was."""
        for name, stream in streams.items():
            self._channel.send_data({"type": "output", "request": request, "stream": name, "part": "head"}, stream.head)
            self._channel.send_data({"type": "output", "request": request, "stream": name, "part": "tail"}, stream.tail)
        return {"stdout": 0, "stderr": 0, **{name: stream.total for name, stream in streams.items()}}

    def _run_on(self, frame: fields.Frame, request: int, kind: str) -> None:
        """Commands that run on while others are run."""
        name = fields.text(frame, "name")
        streams: dict[str, BoundedOutput] = {}
        match kind:
            case "start":
                command = Command.read(frame, bytes(self._input))
                self._input.clear()
                end = self._started.start(name, command)
            case "poll":
                end, streams = self._started.poll(name, fields.number(frame, "seconds"))
            case _:
                end, streams = self._started.stop(name)
        self._channel.send({"type": "polled", "request": request, "bytes": self._give(streams, request), "end": end})

    def _put(self, frame: fields.Frame, request: int) -> None:
        is_last = fields.truth(frame, "last")
        path, mode, data = fields.text(frame, "path"), fields.whole(frame, "mode"), fields.data(frame, "data")
        self._incoming.put(path, mode, data, fields.truth(frame, "first"), is_last)
        if is_last:
            self._done(request)

    def _collect(self, frame: fields.Frame, request: int) -> None:
        accounts = Accounts()
        self._interpreters.end_others(accounts)
        self._started.settle(accounts)
        outgoing = Outgoing(self._channel, {"request": request}, Bounds(fields.whole(frame, "files"), fields.whole(frame, "bytes")))
        for path in fields.texts(frame, "paths"):
            outgoing.give(path)
        self._done(request)

    def _look(self, frame: fields.Frame, request: int, kind: str) -> None:
        path, most = fields.text(frame, "path"), fields.whole(frame, "most")
        match kind:
            case "read":
                self._looking.read(request, path, most)
            case "list":
                self._looking.list(request, path, fields.whole(frame, "depth"), most)
            case _:
                self._looking.search(request, path, fields.text(frame, "text"), fields.truth(frame, "ignoresCase"), most)

    def _change(self, frame: fields.Frame, request: int) -> None:
        """The contents are in the input, one after the other."""
        given = memoryview(bytes(self._input))
        self._input.clear()
        written: list[Written] = []
        for path, size in zip(fields.texts(frame, "paths"), fields.wholes(frame, "sizes"), strict=True):
            written.append(Written(path, given[:size]))
            given = given[size:]
        for each in Change(self._writable).apply(written, fields.texts(frame, "removed")):
            self._snapshots.note(each.path)
            if each.kind == "removed":
                self._channel.send({"type": "removed", "request": request, "path": each.path})
                continue
            mode = {"executable": each.is_executable} if each.kind == "file" else {}
            self._channel.send({"type": "entry", "request": request, "kind": each.kind, "path": each.path, **mode})
        self._done(request)

    def _snapshot(self, frame: fields.Frame, request: int) -> None:
        most_entries, most_bytes = fields.whole(frame, "files"), fields.whole(frame, "bytes")
        self._snapshots.take(request, fields.texts(frame, "paths"), most_entries, most_bytes, fields.truth(frame, "baseline"))
        self._done(request)

    def _done(self, request: int) -> None:
        self._channel.send({"type": "done", "request": request})

    def _refused(self, request: int, kind: str, path: str, detail: str) -> None:
        self._channel.send({"type": "refused", "request": request, "kind": kind, "path": path[:4096], "detail": detail[:4096]})

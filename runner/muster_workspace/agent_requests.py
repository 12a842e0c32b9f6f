"""Answers requests while an agent works in a workspace. These requests end none of the agent's processes."""

from muster_workspace import fields
from muster_workspace.changing import Change, Written
from muster_workspace.channel import Channel, ProtocolError
from muster_workspace.command import Command
from muster_workspace.looking import Looking
from muster_workspace.output import BoundedOutput, give
from muster_workspace.snapshots import Snapshots, arrange
from muster_workspace.started import StartedCommands


class AgentRequests:
    """Looks at files and changes them."""

    def __init__(self, channel: Channel, writable: tuple[str, ...]) -> None:
        self._channel = channel
        self._writable = writable
        self._looking = Looking(channel, writable)
        self._snapshots = Snapshots(channel, writable)
        self.started = StartedCommands()
        """Commands that continue to run while others are run."""

    def answer(self, frame: fields.Frame, request: int, kind: str, given: bytes) -> None:
        """Answers a request. Raises Refusal and OSError; ProtocolError for a request that no agent makes."""
        match kind:
            case "read" | "list" | "search":
                self._look(frame, request, kind)
            case "start" | "poll" | "stop":
                self._channel.flush()
                self._run_on(frame, request, kind, given)
            case "change":
                self._change(frame, request, given)
            case "snapshot":
                self._snapshot(frame, request)
            case "arrange":
                directories, links, targets = (fields.texts(frame, name) for name in ("directories", "links", "targets"))
                arrange(directories, links, targets, self._writable)
                self._done(request)
            case other:
                raise ProtocolError(f"a frame of type {other!r}")

    def _look(self, frame: fields.Frame, request: int, kind: str) -> None:
        path, most = fields.text(frame, "path"), fields.whole(frame, "most")
        match kind:
            case "read":
                self._looking.read(request, path, most)
            case "list":
                self._looking.list(request, path, fields.whole(frame, "depth"), most)
            case _:
                self._looking.search(request, path, fields.text(frame, "text"), fields.truth(frame, "ignoresCase"), most)

    def _run_on(self, frame: fields.Frame, request: int, kind: str, given: bytes) -> None:
        name = fields.text(frame, "name")
        streams: dict[str, BoundedOutput] = {}
        match kind:
            case "start":
                end = self.started.start(name, Command.read(frame, given))
            case "poll":
                end, streams = self.started.poll(name, fields.number(frame, "seconds"))
            case _:
                end, streams = self.started.stop(name)
        self._channel.send({"type": "polled", "request": request, "bytes": give(self._channel, request, streams), "end": end})

    def _change(self, frame: fields.Frame, request: int, given: bytes) -> None:
        """Changes files. Their contents are in the input, one after the other."""
        left = memoryview(given)
        written: list[Written] = []
        for path, size in zip(fields.texts(frame, "paths"), fields.wholes(frame, "sizes"), strict=True):
            written.append(Written(path, left[:size]))
            left = left[size:]
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

"""Runs one command on several inputs, one after the other, each in a new workdir."""

import os
import time
from contextlib import ExitStack
from typing import Any, NamedTuple

from muster_workspace import fields
from muster_workspace.channel import Channel, ProtocolError
from muster_workspace.command import Command
from muster_workspace.files import Bounds, Incoming, Outgoing, wipe
from muster_workspace.interpreters import Interpreters
from muster_workspace.output import give
from muster_workspace.places import Refusal, explain, open_base, renew
from muster_workspace.running import Beside, RunningCommand
from muster_workspace.runs_in_turn import RunsInTurn

_LEAST_SECONDS = 0.001


class Laid(NamedTuple):
    """A file that a run finds in its directory."""

    path: str
    mode: int
    content: bytes


class _Run(NamedTuple):
    arguments: list[str]
    input: bytes
    files: list[Laid]


class Series:
    """The runs of one request. The input has the files of all runs, then those of each run, one after the other."""

    def __init__(self, frame: fields.Frame, given: bytes, writable: tuple[str, ...]) -> None:
        self._writable = writable
        self._wiped = fields.texts(frame, "wiped")
        self._left = memoryview(given)
        self._files = self._lay_out(frame)
        runs = frame.get("runs")
        if not isinstance(runs, list) or not all(isinstance(each, dict) for each in runs):
            raise ProtocolError("runs: expected a list of objects")
        self._runs = [self._run(each) for each in runs]
        self._command = Command.read(frame, b"")
        self._taken, self._taken_bytes = fields.text(frame, "taken"), fields.whole(frame, "takenBytes")
        self._is_trusted = fields.truth(frame, "trusted")
        """Whether runs without files of their own may follow each other with no check of what they leave except files."""
        self._deadline = time.monotonic() + fields.number(frame, "within")

    def carry_out(self, channel: Channel, request: int, interpreters: Interpreters, beside: Beside | None) -> None:
        """Reports how each run ended as soon as it has. Stops where a file of all runs cannot be written. Raises Refusal and OSError."""
        with ExitStack() as held:
            bases = {path: open_base(path) for path in self._wiped if path in self._writable}
            for descriptor in bases.values():
                held.callback(os.close, descriptor)
            self._carry_out(bases, channel, request, interpreters, beside)

    def _carry_out(self, bases: dict[str, int], channel: Channel, request: int, interpreters: Interpreters, beside: Beside | None) -> None:
        done = 0
        while done < len(self._runs):
            self._make_anew(bases)
            if self._needs_no_look:
                inputs = [(run.arguments, run.input) for run in self._runs[done:]]
                in_turn = RunsInTurn(self._command, inputs, self._measure_seconds)
                in_turn.carry_out(channel, request, interpreters)
                self._deadline += in_turn.waited_seconds
                done += in_turn.done
                if in_turn.done > 0:
                    continue
            if not self._carry_out_one(self._runs[done], channel, request, interpreters, beside):
                return
            done += 1

    @property
    def _needs_no_look(self) -> bool:
        """Returns whether the program is trusted and sees only its directory, which is emptied after a run that left a file."""
        has_files = bool(self._files) or any(run.files for run in self._runs)
        return self._is_trusted and not has_files and not self._taken and self._wiped == [self._command.directory]

    def _make_anew(self, bases: dict[str, int]) -> None:
        for path in self._wiped:
            if path in bases:
                renew(bases[path])
            else:
                wipe(path, self._writable)

    def _carry_out_one(self, run: _Run, channel: Channel, request: int, interpreters: Interpreters, beside: Beside | None) -> bool:
        """Carries out one run. Returns False when a file of all runs cannot be written."""
        try:
            self._lay(self._files)
        except (Refusal, OSError) as problem:
            channel.send({"type": "unlaid", "request": request, **explain(problem, "")})
            return False
        self._lay(run.files)
        command = self._command.on(run.arguments, run.input, self._measure_seconds())
        end, streams = RunningCommand(command, channel, request, interpreters, beside).run()
        self._deadline += end["waitedSeconds"]
        lengths = give(channel, request, streams)
        if self._taken and end["end"] == {"kind": "exited", "code": 0}:
            self._take(channel, request)
        channel.send({"type": "ended", "request": request, "bytes": lengths, **end})
        channel.flush()
        return True

    def _lay(self, files: list[Laid]) -> None:
        incoming = Incoming(self._writable)
        for path, mode, content in files:
            incoming.put(path, mode, content, is_first=True, is_last=True)

    def _take(self, channel: Channel, request: int) -> None:
        """Sends the file that the run has left, or the reason why that is impossible."""
        try:
            Outgoing(channel, {"request": request}, Bounds(1, self._taken_bytes)).give(self._taken)
        except (Refusal, OSError) as problem:
            channel.send({"type": "untaken", "request": request, **explain(problem, self._taken)})

    def _measure_seconds(self, waited_seconds: float = 0.0) -> float:
        return min(self._command.seconds, max(_LEAST_SECONDS, self._deadline + waited_seconds - time.monotonic()))

    def _run(self, run: dict[str, Any]) -> _Run:
        return _Run(fields.texts(run, "arguments"), self._next(fields.whole(run, "input")), self._lay_out(run))

    def _lay_out(self, frame: fields.Frame) -> list[Laid]:
        paths, modes, sizes = fields.texts(frame, "paths"), fields.wholes(frame, "modes"), fields.wholes(frame, "sizes")
        return [Laid(path, mode, self._next(size)) for path, mode, size in zip(paths, modes, sizes, strict=True)]

    def _next(self, size: int) -> bytes:
        part, self._left = bytes(self._left[:size]), self._left[size:]
        return part

"""Serves the streams of a command while it runs, bounds its time, and ends all of its processes."""

import errno
import os
import select
import selectors
import signal
import time
from typing import TYPE_CHECKING, Any, Protocol

from muster_workspace.channel import Channel
from muster_workspace.command import Command, describe_end
from muster_workspace.interpreters import Interpreters
from muster_workspace.output import BoundedOutput
from muster_workspace.processes import Accounts, measure_resident_bytes
from muster_workspace.starting import begin
from muster_workspace.time_limit import TimeLimit

# Few commands need it, and the import would cost time in every sandbox that is not forked.
if TYPE_CHECKING:
    from muster_workspace.line import Line

# Seconds between two measurements of the memory of all processes. Shorter peaks of several processes together are missed.
_SAMPLE_SECONDS = 0.01
# Seconds between two looks at a command of which nothing is measured. Its end is reported at once, unless the end of its interpreter hides
# that.
_LOOK_SECONDS = 1.0
# The next look at a forked program waits for at least this share of the time that it has run. A look takes as long as many a run.
_SAMPLE_SHARE = 0.25
_WRITE_BYTES = 1 << 16
_NO_DESCRIPTOR = -1


class Beside(Protocol):
    """Other commands, which continue while this one runs."""

    @property
    def runs(self) -> bool:
        """Whether one of them runs."""

    def drain(self) -> None:
        """Reads what they have printed."""

    def end_others(self, accounts: Accounts) -> bool:
        """Ends all processes but theirs. Returns False when none of them runs."""


class RunningCommand:
    """A command from its start to its end."""

    def __init__(self, command: Command, channel: Channel, request: int, interpreters: Interpreters, beside: Beside | None) -> None:
        self._command = command
        self._beside = beside
        self._interpreters = interpreters
        self._peak_bytes = 0
        self._look_seconds = _SAMPLE_SECONDS if command.sampled else _LOOK_SECONDS
        self._limit: TimeLimit | None = None
        begun = begin(command, interpreters)
        pipes = begun.pipes
        self._start, self._problem, self._calls = begun.start, begun.problem, begun.calls
        self._accounts = Accounts(but=interpreters.pid)
        self._pid, self._is_forked, self._is_orphan = begun.pid, begun.is_forked, False
        descriptors = {"stdout": pipes.stdout, "stderr": pipes.stderr, **({"report": pipes.report} if command.has_report else {})}
        self._streams = {name: BoundedOutput(each, command.head, command.tail) for name, each in descriptors.items()}
        self._line = _make_line(channel, request, pipes.report) if command.line else None
        self._input = pipes.input
        self._left = memoryview(command.input)
        self._open = set(descriptors.values())
        # poll(2) is cheaper than epoll for a few descriptors and a few waits.
        self._selector = selectors.PollSelector()

    def run(self) -> tuple[dict[str, Any], dict[str, BoundedOutput]]:
        """Waits for the end. Returns the end as Muster reads it, and the outputs."""
        end = {"kind": "unstartable", "detail": self._problem[:8192]} if self._problem else self._watch()
        seconds = time.monotonic() - self._start
        if self._beside is None or not self._beside.end_others(self._accounts):
            self._interpreters.end_others(self._accounts)
        self._drain()
        for stream in self._streams.values():
            stream.finish()
        peak = max(self._peak_bytes, self._accounts.largest_bytes)
        if self._calls is not None:
            os.close(self._calls.descriptor)
        called = sorted(self._calls.numbers) if self._calls else []
        waited = self._limit.waited_seconds if self._limit else 0.0
        measured = {"seconds": seconds, "waitedSeconds": waited, "cpuSeconds": self._accounts.cpu_seconds}
        used = {**measured, "peakBytes": peak, "called": called}
        return {"end": end, **used}, self._streams

    def _watch(self) -> dict[str, Any]:
        """Serves the streams until the command ends, or has to be ended."""
        self._write_input()
        # The interpreter reports how a forked program ended.
        exited = os.dup(self._interpreters.descriptor) if self._is_forked else _open_process(self._pid)
        if exited == _NO_DESCRIPTOR:
            self._look_seconds = _SAMPLE_SECONDS
        else:
            self._selector.register(exited, selectors.EVENT_READ)
        try:
            status = self._wait_briefly(exited)
            if status is not None:
                return describe_end(status)
            self._register_streams()
            return self._serve(exited)
        finally:
            if exited != _NO_DESCRIPTOR:
                os.close(exited)
            self._selector.close()
            self._end_input()

    def _wait_briefly(self, exited: int) -> int | None:
        """Returns the status of a forked program that ends soon, as most do. Until then its output waits in the pipes, because serving them
        takes time.
        """
        if not self._is_forked or self._left or self._beside is not None:
            return None
        ready, _, _ = select.select([exited], [], [], min(_SAMPLE_SECONDS, self._command.seconds))
        return self._look_for_end(exited) if ready else None

    def _register_streams(self) -> None:
        for name, stream in self._streams.items():
            if name != "report" or self._line is None:
                self._selector.register(stream.descriptor, selectors.EVENT_READ, stream)
        if self._line is not None:
            self._line.register(self._selector)
        if self._left:
            self._selector.register(self._input, selectors.EVENT_WRITE)
        if self._calls is not None:
            self._selector.register(self._calls.descriptor, selectors.EVENT_READ)

    def _serve(self, exited: int) -> dict[str, Any]:
        is_alone = self._beside is None or not self._beside.runs
        self._limit = limit = TimeLimit(self._start, self._command.seconds, self._accounts, alone=is_alone)
        sample = self._start + self._look_seconds
        while True:
            now = time.monotonic()
            may_have_ended = False
            for key, events in self._selector.select(max(0.0, min(limit.deadline, sample) - now)):
                may_have_ended = may_have_ended or key.fd == exited
                if self._line is not None and key.data is self._line:
                    self._line.attend(key.fd, events, self._selector)
                else:
                    self._attend(key.fd, key.data)
            self._drain_beside()
            if self._line is not None and self._line.seconds is not None:
                limit.shorten(now, self._line.seconds)
                self._line.seconds = None
            is_due = time.monotonic() >= sample
            status = self._look_for_end(exited) if may_have_ended or is_due else None
            if status is not None:
                return describe_end(status)
            # Only a command that still runs is measured. Most have ended by now, and a look at all processes takes time.
            if is_due:
                now = time.monotonic()
                if self._command.sampled:
                    self._peak_bytes = max(self._peak_bytes, measure_resident_bytes(but=self._interpreters.pid))
                sample = now + max(self._look_seconds, _SAMPLE_SHARE * (now - self._start) if self._is_forked else 0.0)
            if sum(stream.total for stream in self._streams.values()) > self._command.most:
                return {"kind": "output-limit"}
            if limit.is_over():
                return {"kind": "timeout"}

    def _drain_beside(self) -> None:
        if self._beside is not None:
            self._beside.drain()

    def _look_for_end(self, exited: int) -> int | None:
        """Returns the status with which it has ended, or None."""
        self._accounts.reap()
        is_own = self._pid in self._accounts.statuses
        if not self._is_forked:
            return self._accounts.statuses.get(self._pid)
        if not self._is_orphan and not self._interpreters.receive(self._accounts):
            self._selector.unregister(exited)
            self._is_orphan = True
        if is_own or (self._is_orphan and not os.access(f"/proc/{self._pid}", os.F_OK)):
            # The program has ended the interpreter, which may have known how the program ended.
            return signal.SIGKILL
        return self._accounts.statuses.get(self._pid)

    def _attend(self, descriptor: int, stream: BoundedOutput | None) -> None:
        if stream is not None:
            if not stream.read():
                self._selector.unregister(descriptor)
                self._open.discard(descriptor)
                os.close(descriptor)
        elif self._calls is not None and descriptor == self._calls.descriptor:
            if not self._calls.answer():
                self._selector.unregister(descriptor)
        elif descriptor == self._input:
            self._write_input()
            if not self._left:
                self._selector.unregister(descriptor)

    def _write_input(self) -> None:
        """Writes as much input as the pipe takes, and closes the pipe after the last byte."""
        try:
            if self._left:
                self._left = self._left[os.write(self._input, self._left[:_WRITE_BYTES]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._left = memoryview(b"")
        if not self._left:
            self._end_input()

    def _end_input(self) -> None:
        if self._input >= 0:
            os.close(self._input)
            self._input = -1

    def _drain(self) -> None:
        """Reads what is left in the pipes."""
        for stream in self._streams.values():
            if stream.descriptor in self._open:
                stream.drain(self._command.most)
                os.close(stream.descriptor)
        self._end_input()


def _open_process(pid: int) -> int:
    """Opens a pidfd, which shows the end of the process. `_NO_DESCRIPTOR` on kernels without pidfds, such as older versions of gVisor."""
    try:
        return os.pidfd_open(pid)
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
        return _NO_DESCRIPTOR


def _make_line(channel: Channel, request: int, descriptor: int) -> "Line":
    from muster_workspace.line import Line

    return Line(channel, request, descriptor)

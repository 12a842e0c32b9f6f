"""Runs a trusted program on several inputs: its interpreter forks a process for each in turn, and reports how each run has ended.

Runs of untrusted programs are served one by one (running.py). Here only the time and the size of the output are checked, so that a run
costs little more than its process. Inputs and outputs are files in memory: no stream has to be served.
"""

import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from muster_workspace.channel import Channel
from muster_workspace.command import Command, describe_end
from muster_workspace.interpreters import Interpreters
from muster_workspace.output import BoundedOutput, give
from muster_workspace.processes import Accounts
from muster_workspace.time_limit import TimeLimit

_OVER = b"over"
# Seconds between two checks of the size of a run's output.
_LOOK_SECONDS = 0.1


class RunsInTurn:
    """One command with the arguments and the input of each run."""

    def __init__(self, command: Command, runs: list[tuple[list[str], bytes]], measure_seconds: Callable[[float], float]) -> None:
        """`measure_seconds` returns the seconds that the next run may take, given the seconds for which the runs before have waited for a
        processor.
        """
        self._command = command
        self._runs = runs
        self._measure_seconds = measure_seconds
        self._streams: list[int] = []
        """Three descriptors for each run: input, output and error output."""
        self._start = 0.0
        self.done = 0
        self.waited_seconds = 0.0

    def carry_out(self, channel: Channel, request: int, interpreters: Interpreters) -> None:
        """Reports how each run ended. Leaves out the runs after one that has left files, and all runs if the program cannot be forked."""
        program = self._command.forked
        # A single run is served like any other command.
        if program is None or len(self._runs) < 2:
            return
        with ExitStack() as held:
            for _, given in self._runs:
                for content in (given, b"", b""):
                    self._streams.append(_make_file(content))
                    held.callback(os.close, self._streams[-1])
            if interpreters.fork_in_turn(program, [arguments for arguments, _ in self._runs], self._streams):
                self._follow(channel, request, interpreters)

    def _follow(self, channel: Channel, request: int, interpreters: Interpreters) -> None:
        accounts, limit = self._begin_next()
        while (said := interpreters.receive_in_turn(_LOOK_SECONDS)) != _OVER:
            if said:
                status, seconds, kibibytes = said.split()
                accounts.add(0, int(status), float(seconds), int(kibibytes) * 1024)
                self._tell(channel, request, describe_end(int(status)), accounts, limit)
                accounts, limit = self._begin_next()
            elif said is not None:
                # The interpreter has ended. The runs that are left are started one by one.
                interpreters.end_everything(accounts)
                return
            elif (reason := "output-limit" if self._has_printed_too_much() else "timeout" if limit.is_over() else "") != "":
                interpreters.end_everything(accounts)
                self._tell(channel, request, {"kind": reason}, accounts, limit)
                return
        interpreters.end_others(accounts)

    def _begin_next(self) -> tuple[Accounts, TimeLimit]:
        self._start = time.monotonic()
        # While the interpreter waits for a processor, the run waits, too. So the interpreter is not left out of the account.
        accounts = Accounts()
        return accounts, TimeLimit(self._start, self._measure_seconds(self.waited_seconds), accounts, alone=True)

    def _tell(self, channel: Channel, request: int, end: dict[str, Any], accounts: Accounts, limit: TimeLimit) -> None:
        if self._has_printed_too_much():
            end = {"kind": "output-limit"}
        _, stdout, stderr = self._own_streams()
        files = {"stdout": stdout, "stderr": stderr}
        streams = {name: BoundedOutput.of_file(file, self._command.head, self._command.tail) for name, file in files.items()}
        seconds = {"seconds": time.monotonic() - self._start, "waitedSeconds": limit.waited_seconds, "cpuSeconds": accounts.cpu_seconds}
        used = {**seconds, "peakBytes": accounts.largest_bytes, "called": []}
        channel.send({"type": "ended", "request": request, "bytes": give(channel, request, streams), "end": end, **used})
        self.waited_seconds += limit.waited_seconds
        self.done += 1

    def _has_printed_too_much(self) -> bool:
        return sum(os.fstat(each).st_size for each in self._own_streams()[1:]) > self._command.most

    def _own_streams(self) -> list[int]:
        """Returns the streams of the run that is reported next; after the last run, those of the last."""
        at = 3 * min(self.done, len(self._runs) - 1)
        return self._streams[at : at + 3]


def _make_file(content: bytes) -> int:
    descriptor = os.memfd_create("stream")
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor

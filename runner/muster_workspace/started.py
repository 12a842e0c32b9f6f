"""Runs commands that continue while others run. Each has a name, and its output is kept, bounded, until it is requested."""

import os
import select
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from muster_workspace.command import Command, describe_end
from muster_workspace.fields import Frame
from muster_workspace.output import BoundedOutput
from muster_workspace.places import Refusal
from muster_workspace.processes import Accounts, Remaining, list_others
from muster_workspace.starting import begin_detached

_MOST = 16
_PROC = Path("/proc")
# Seconds for a stopped command to end by itself before it is killed, such as a server that saves its state.
_GENTLE_SECONDS = 2.0
_LOOK_SECONDS = 0.005
# Killed processes are gone in microseconds, unless they wait for a disk.
_GONE_SECONDS = 10.0
# The number of passes in which stray processes are found and killed. Those that fork faster than they are found end with the sandbox.
_PASSES = 50
# Enough reads to empty a full pipe.
_LAST_READS = 4


@dataclass
class _Started:
    pid: int
    """The process id, which is also the id of its session."""
    streams: dict[str, BoundedOutput]
    open: set[str]
    printed: int
    most: int
    end: Frame | None = None

    def drain(self) -> None:
        for name in list(self.open):
            stream = self.streams[name]
            before = stream.total
            if not stream.read():
                self.open.discard(name)
                os.close(stream.descriptor)
            self.printed += stream.total - before


class StartedCommands:
    """The commands that run in one workspace, and the output of those that have ended."""

    def __init__(self) -> None:
        self._all: dict[str, _Started] = {}

    def start(self, name: str, command: Command) -> Frame | None:
        """Starts a command. Returns its end when it could not be started. Raises Refusal."""
        self.look()
        known = self._all.get(name)
        if known is not None and known.end is None:
            raise Refusal("running", name, "runs already; stop it first, or use another name")
        if known is None and len(self._all) >= _MOST:
            self._forget_one()
        pid, descriptors, problem = begin_detached(command)
        if problem:
            for each in descriptors.values():
                os.close(each)
            return {"kind": "unstartable", "detail": problem[:8192]}
        streams = {stream: BoundedOutput(each, command.head, command.tail) for stream, each in descriptors.items()}
        self._all[name] = _Started(pid, streams, set(streams), 0, command.most)
        return None

    def _forget_one(self) -> None:
        ended = next((name for name, each in self._all.items() if each.end is not None), None)
        if ended is None:
            raise Refusal("too-many", "", f"{_MOST} commands run already; stop one first")
        del self._all[ended]

    def poll(self, name: str, seconds: float) -> tuple[Frame | None, dict[str, BoundedOutput]]:
        """Returns the command's end, if it has ended, and its output since the last poll. Waits for either, at most this long. Raises
        Refusal.
        """
        started = self._get_known(name)
        deadline = time.monotonic() + seconds
        self.look()
        while started.end is None and not any(stream.total for stream in started.streams.values()):
            left = deadline - time.monotonic()
            if left <= 0:
                break
            self.wait(min(left, 0.1))
        return started.end, self._take_output(started)

    def stop(self, name: str) -> tuple[Frame | None, dict[str, BoundedOutput]]:
        """Ends a command and all processes that it has started, first with SIGTERM. Raises Refusal and Remaining."""
        started = self._get_known(name)
        self.look()
        deadline = time.monotonic() + _GENTLE_SECONDS
        if started.end is None:
            # The command itself gets the signal first. If its children ended before, it could end in a way that hides the stop.
            _signal(sorted(self._tree(started), key=lambda pid: pid != started.pid), signal.SIGTERM)
        while started.end is None and time.monotonic() < deadline:
            self.wait(_LOOK_SECONDS)
        if started.end is None:
            _signal(self._tree(started), signal.SIGKILL)
        deadline = time.monotonic() + _GONE_SECONDS
        while started.end is None:
            if time.monotonic() >= deadline:
                raise Remaining(f"process {started.pid} does not end")
            self.wait(_LOOK_SECONDS)
        return started.end, self._take_output(started)

    def end_others(self, accounts: Accounts) -> bool:
        """Ends all processes except these commands and the processes that they have started. Returns False when no command runs."""
        self.drain()
        running = [each for each in self._all.values() if each.end is None]
        if not running:
            return False
        for _ in range(_PASSES):
            kept = set().union(*(self._tree(each) for each in running))
            strays = [pid for pid in list_others() if pid not in kept]
            _signal(strays, signal.SIGKILL)
            accounts.reap()
            if not strays:
                break
            time.sleep(0.0005)
        self.settle(accounts)
        return True

    def wait(self, seconds: float, *sources: int) -> bool:
        """Waits until a command prints, a source has data, or the time is over. Returns whether a source has data."""
        descriptors = [each.streams[name].descriptor for each in self._all.values() for name in each.open]
        ready, _, _ = select.select([*descriptors, *sources], [], [], seconds)
        self.look()
        return any(each in ready for each in sources)

    @property
    def runs(self) -> bool:
        """Returns whether one of them runs."""
        return any(each.end is None for each in self._all.values())

    def drain(self) -> None:
        """Reads what they have printed."""
        for each in self._all.values():
            each.drain()

    def look(self) -> None:
        """Reads what they have printed, and notes which have ended. Call it while nothing else waits for processes."""
        self.drain()
        if self.runs:
            accounts = Accounts()
            accounts.reap()
            self.settle(accounts)

    def settle(self, accounts: Accounts) -> None:
        """Closes commands that have ended, or have printed too much."""
        for each in self._all.values():
            if each.end is not None:
                continue
            status = accounts.statuses.get(each.pid)
            if status is None and each.printed <= each.most:
                continue
            _signal(self._tree(each), signal.SIGKILL)
            each.end = {"kind": "output-limit"} if status is None else describe_end(status)
            self._close(each)

    def _close(self, started: _Started) -> None:
        """Reads the rest of the output. A process that has left the tree may hold the other end open."""
        for name in list(started.open):
            stream = started.streams[name]
            for _ in range(_LAST_READS):
                if not stream.read():
                    break
            os.close(stream.descriptor)
        started.open.clear()

    def _get_known(self, name: str) -> _Started:
        started = self._all.get(name)
        if started is None:
            names = ", ".join(sorted(self._all)) or "none"
            raise Refusal("missing", name, f"no command of this name was started here, or it ended long ago; there are: {names}")
        return started

    @staticmethod
    def _take_output(started: _Started) -> dict[str, BoundedOutput]:
        taken = started.streams
        for stream in taken.values():
            stream.finish()
        started.streams = {name: stream.make_empty() for name, stream in taken.items()}
        return taken

    @staticmethod
    def _tree(started: _Started) -> set[int]:
        """Returns the processes of its session, and their descendants that have left the session."""
        tree = {started.pid}
        rows = list(_list_family())
        grown = True
        while grown:
            more = {pid for pid, parent, session in rows if pid not in tree and (parent in tree or session == started.pid)}
            tree |= more
            grown = bool(more)
        return tree


def _list_family() -> Iterator[tuple[int, int, int]]:
    """Yields each process with its parent and its session."""
    for pid in list_others():
        try:
            fields = (_PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue
        yield pid, int(fields[1]), int(fields[3])


def _signal(pids: "set[int] | list[int]", number: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue

"""Keeps the workspaces of one template: forks the first process of each, and reports its end to Muster.

That process builds its own walls, and then runs the workspace's program (muster_workspace), whose modules are imported already. It is the
only process of its sandbox until Muster has it run a command. When it ends, the kernel ends all other processes of its pid namespace.
"""

import contextlib
import fcntl
import json
import os
import resource
import selectors
import signal
import socket
import sys
from dataclasses import dataclass
from typing import NoReturn

import muster_workspace.agent_requests
import muster_workspace.line
import muster_workspace.watched_calls  # noqa: F401 -- imported here so that workspaces share it and none has to import it
from muster_runner.json_fields import Object, as_choice, as_text
from muster_runner.shared_memory import share_memory
from muster_workspace.command_line import converse
from muster_workspace.rehearsal import rehearse
from muster_zygote.children import build_end_message, reap_children, wake_on_child
from muster_zygote.envelope import Message, close_all
from muster_zygote.first_process import replace_argument
from muster_zygote.holes import fill_holes
from muster_zygote.linux import MountFlag, Namespace, change_directory, close_from, enter, make, mount, unshare
from muster_zygote.orders import Orders
from muster_zygote.settings import Settings, list_limits
from muster_zygote.site import STREAMS, open_site, remove_groups
from muster_zygote.walls import SHM, locate_inbox, plan_walls
from muster_zygote.warm_interpreters import WarmInterpreters

BASE_IMAGE = ""
# A report must fit into what a pipe writes atomically.
PROBLEM_CHARACTERS = 500
# The lowest descriptor of a first process's streams while it makes the calls of its walls, which need the low numbers to be free.
ASIDE = 512
REPORT = 0


@dataclass
class Workspace:
    """A workspace whose first process has not been reaped."""

    has_begun: bool = False
    # The reason why it could not begin.
    problem: str | None = None
    # The socket on which it may request an interpreter.
    line: socket.socket | None = None
    # Whether Muster has ordered its end, after which Muster no longer needs its control groups.
    is_killed: bool = False


class WorkspaceWarden:
    """The warden of one template's workspaces."""

    def __init__(self, settings: Settings, orders: Orders) -> None:
        self._settings = settings
        self._orders = orders
        self._workspaces: dict[int, tuple[str, Workspace]] = {}
        self._pids: dict[str, int] = {}
        self._warm = None if settings.has_own_root else WarmInterpreters(settings)
        self._selector = selectors.DefaultSelector()
        self._reports, self._report = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._new_processes = unshare(Namespace.PID)
        self._own_processes = enter(os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC), Namespace.PID)
        make(mount(None, "/", None, MountFlag.RECURSIVE | MountFlag.PRIVATE))
        self._calls = (unshare(Namespace.CGROUP), *plan_walls(settings), change_directory("/tmp"))

    def run(self) -> None:
        """Serves orders. Returns when Muster has closed the input."""
        woken = wake_on_child()
        for descriptor in (self._orders.descriptor, self._reports, woken.fileno()):
            self._selector.register(descriptor, selectors.EVENT_READ)
        self._orders.send({"type": "image-ready", "image": BASE_IMAGE, "policies": []})
        rehearse(SHM)
        share_memory()
        fill_holes()
        while not self._orders.ended:
            for key, _events in self._selector.select():
                if isinstance(key.data, int):
                    self._hand_on(key.data)
                elif key.fd == self._orders.descriptor:
                    for order in self._orders.arrived():
                        self._obey(order)
                elif key.fd == self._reports:
                    self._read_reports()
                else:
                    woken.recv(4096)
            self._reap()

    def _obey(self, order: Object) -> None:
        sandbox = as_text(order["sandbox"], "sandbox")
        match as_choice(order["type"], "type", ("fork", "kill")):
            case "fork":
                self._begin(sandbox, as_text(order["token"], "token"))
            case "kill":
                # A process that has ended keeps its number until it is reaped, so the signal cannot reach another.
                with contextlib.suppress(KeyError):
                    pid = self._pids[sandbox]
                    self._workspaces[pid][1].is_killed = True
                    os.kill(pid, signal.SIGKILL)

    def _begin(self, sandbox: str, token: str) -> None:
        descriptors: list[int] = []
        line: socket.socket | None = None
        try:
            descriptors = open_site(sandbox, token, self._settings.cgroups)
            if self._warm is not None:
                line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                descriptors.insert(len(STREAMS), theirs.detach())
            pid = self._fork(sandbox, descriptors)
        except OSError as error:
            if line is not None:
                line.close()
            self._orders.send({"type": "failed", "sandbox": sandbox, "message": str(error)})
            return
        finally:
            close_all(descriptors)
        self._workspaces[pid] = sandbox, Workspace(line=line)
        self._pids[sandbox] = pid
        if line is not None:
            self._selector.register(line, selectors.EVENT_READ, pid)

    def _hand_on(self, pid: int) -> None:
        """Passes the request for an interpreter on. The line becomes readable when the first process sends a request, or has ended."""
        sandbox, workspace = self._workspaces[pid]
        if (line := self._forget_line(workspace)) is not None and self._warm is not None:
            self._warm.hand_on(line, pid, sandbox)

    def _forget_line(self, workspace: Workspace) -> socket.socket | None:
        line, workspace.line = workspace.line, None
        if line is not None:
            self._selector.unregister(line)
        return line

    def _fork(self, sandbox: str, descriptors: list[int]) -> int:
        """Forks the first process of a new pid namespace. The child never returns."""
        make(self._new_processes)
        try:
            pid = os.fork()
        except OSError:
            make(self._own_processes)
            raise
        if pid == 0:
            self._become(sandbox, descriptors)
        make(self._own_processes)
        return pid

    def _become(self, sandbox: str, descriptors: list[int]) -> NoReturn:
        try:
            count = self._wall_off(sandbox, descriptors)
            write_report(REPORT, sandbox, "")
            for stream in range(count):
                os.dup2(ASIDE + stream, stream, inheritable=stream < len(STREAMS))
            close_from(count)
        except BaseException as error:
            # If the descriptors are moved already, no report is possible, and the process ends without having begun.
            with contextlib.suppress(OSError):
                write_report(REPORT, sandbox, f"{type(error).__name__}: {error}")
            os._exit(1)
        code = 1
        try:
            code = converse(("/tmp", "/dev/shm", *(self._settings.writable or ())), len(STREAMS) if count > len(STREAMS) else None)
        except BaseException:
            # Muster shows this error output as the reason why the workspace is gone.
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(code)

    def _wall_off(self, sandbox: str, descriptors: list[int]) -> int:
        """Returns the number of descriptors that stay open: the streams and, if there is one, the socket that requests an interpreter."""
        count = len(STREAMS) + (self._warm is not None)
        streams, groups = descriptors[:count], descriptors[count:]
        for group in groups:
            os.write(group, b"0")
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        report, *streams = keep_only((self._report, *streams))
        for place, stream in enumerate(streams, ASIDE):
            os.dup2(stream, place)
        os.dup2(report, REPORT)
        os.closerange(REPORT + 1, ASIDE)
        close_from(ASIDE + len(streams))
        word = os.fsencode(locate_inbox(sandbox))
        make(*(replace_argument(call, word) for call in self._calls))
        for kind, limit in list_limits(self._settings):
            resource.setrlimit(kind, (limit, limit))
        os.umask(0o022)
        return len(streams)

    def _read_reports(self) -> None:
        """Reads all reports that have arrived."""
        with contextlib.suppress(BlockingIOError):
            while chunk := os.read(self._reports, 1 << 16):
                for line in chunk.splitlines():
                    self._note(json.loads(line))

    def _note(self, report: Message) -> None:
        sandbox = report["sandbox"]
        _, workspace = self._workspaces[self._pids[sandbox]]
        if report["problem"]:
            workspace.problem = report["problem"]
        else:
            workspace.has_begun = True
            self._orders.send({"type": "started", "sandbox": sandbox})

    def _reap(self) -> None:
        for pid, status, usage in reap_children():
            # A warm interpreter has ended, or an interpreter that was forked from one.
            if pid not in self._workspaces:
                if self._warm is not None:
                    self._warm.forget(pid)
                continue
            # It may have sent a report before it ended.
            self._read_reports()
            sandbox, workspace = self._workspaces.pop(pid)
            del self._pids[sandbox]
            if (line := self._forget_line(workspace)) is not None:
                line.close()
            if workspace.has_begun:
                # The groups are removed here, because each removal would cost Muster a thread and a promise.
                removed = workspace.is_killed and remove_groups(sandbox, self._settings.cgroups)
                self._orders.send({**build_end_message(sandbox, status, usage), "groups_removed": removed})
            else:
                problem = workspace.problem or f"its first process ended with status {status} before it had begun"
                self._orders.send({"type": "failed", "sandbox": sandbox, "message": problem})


def keep_only(descriptors: tuple[int, ...]) -> list[int]:
    """Closes all other descriptors, and returns these as low numbers. They may be high: the warden has one for each workspace."""
    lowest = 0
    for descriptor in sorted(descriptors):
        os.closerange(lowest, descriptor)
        lowest = descriptor + 1
    close_from(lowest)
    low = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, REPORT + 1) for descriptor in descriptors]
    close_from(max(low) + 1)
    return low


def write_report(descriptor: int, sandbox: str, problem: str) -> None:
    """Writes a report as one line and at once, so that reports do not mix."""
    report = json.dumps({"sandbox": sandbox, "problem": problem[:PROBLEM_CHARACTERS]})
    os.write(descriptor, report.encode() + b"\n")

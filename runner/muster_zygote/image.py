"""A zygote: a process that has imported and loaded what programs need, and forks the programs."""

import contextlib
import os
import selectors
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

from muster_runner.imports import import_all, is_lasting
from muster_runner.shared_memory import share_memory
from muster_zygote.children import build_end_message, reap_children, wake_on_child
from muster_zygote.entrance import list_namespaces
from muster_zygote.envelope import Message, close_all, receive, send
from muster_zygote.holes import fill_holes
from muster_zygote.huge_pages import use_huge_pages
from muster_zygote.linux import Namespace, close_from, enter, flush_c_streams, make, unshare
from muster_zygote.privileges import become_user, forbid_new_privileges, keep_capabilities, keep_capabilities_to_enter, leave_groups
from muster_zygote.program import Confinement, forget_the_past, prepare, run
from muster_zygote.settings import Settings


@dataclass
class Image:
    """One zygote. Its programs are its children, so only it learns how they end."""

    channel: socket.socket
    settings: Settings

    def prepare(self, work: Callable[[], list[Message]]) -> NoReturn:
        """Prepares what its programs need, then serves. Reports to the warden what cannot be prepared.

        @param work: returns the report on the policies that it has loaded.
        """
        keep_only(self.channel.fileno())
        try:
            # In a mount namespace of its own, so that neither the warden nor later sandboxes see what is mounted here.
            make(unshare(Namespace.MOUNT))
            policies = work()
            flush_prints()
        except BaseException as error:
            message = f"{type(error).__name__}: {error}"[:4096]
            send(self.channel, {"type": "unfit", "message": message, "lasting": is_lasting(error)})
            os._exit(1)
        self._serve(policies)

    def prepare_base(self) -> NoReturn:
        """Drops the warden's privileges, then prepares the process from which all further images are forked."""

        def work() -> list[Message]:
            give_up_privileges(self.settings)
            return import_and_rehearse(self.settings.imports)

        self.prepare(work)

    def _serve(self, policies: list[Message]) -> NoReturn:
        """Forks programs until the warden is gone, with which all processes of its pid namespace end."""
        self._confinement = Confinement(self.settings)
        self._home = enter(os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC), Namespace.PID)
        self._programs: dict[int, str] = {}
        woken = wake_on_child()
        share_memory()
        fill_holes()
        selector = selectors.DefaultSelector()
        selector.register(self.channel, selectors.EVENT_READ)
        selector.register(woken, selectors.EVENT_READ)
        send(self.channel, {"type": "ready", "policies": policies})
        while True:
            for key, _events in selector.select():
                if key.fileobj is woken:
                    woken.recv(4096)
                elif not self._obey():
                    os._exit(0)
            self._reap()

    def _obey(self) -> bool:
        received = receive(self.channel)
        if received is None:
            return False
        message, descriptors = received
        if message["type"] == "fork":
            self._fork(message["sandbox"], message["command"], message["has_line"], descriptors)
        else:
            self._fork_image(message, descriptors[0])
        close_all(descriptors)
        return True

    def _fork(self, sandbox: str, command: list[str], has_line: bool, descriptors: list[int]) -> None:
        processes, *rest = descriptors
        prepare(tuple(command))
        try:
            pid = self._fork_behind(processes)
        except OSError as error:
            # The sandbox may have been killed meanwhile, and its namespaces with it.
            send(self.channel, {"type": "unforked", "sandbox": sandbox, "message": str(error)})
            return
        if pid == 0:
            self._become(sandbox, command, has_line, rest)
        self._programs[pid] = sandbox
        make(self._home)

    def _fork_behind(self, processes: int) -> int:
        """Forks a child in the pid namespace `processes`. Further children would be in it, too."""
        make(enter(processes, Namespace.PID))
        try:
            return os.fork()
        except OSError:
            make(self._home)
            raise

    def _fork_image(self, message: Message, channel: int) -> None:
        """Forks a further image, which has everything of this one and the policies of the message."""
        if os.fork() != 0:
            return
        further = Image(socket.socket(fileno=channel), self.settings)
        further.prepare(lambda: preload(message["policies"], message["code"]))

    def _become(self, sandbox: str, command: list[str], has_line: bool, rest: list[int]) -> NoReturn:
        """Runs in the forked process. It never returns: the process ends here in any case."""
        try:
            ways = len(list_namespaces(self.settings)) - 1
            entrance, (stdin, stdout, stderr, *cgroups) = rest[:ways], rest[ways:]
            line = cgroups.pop(0) if has_line else None
            self._confinement.enter(entrance, (stdin, stdout, stderr), cgroups)
            send(self.channel, {"type": "started", "sandbox": sandbox})
        except BaseException as error:
            with contextlib.suppress(OSError):
                send(self.channel, {"type": "failed", "sandbox": sandbox, "message": f"{type(error).__name__}: {error}"})
            os._exit(1)
        forget_the_past(line)
        run(tuple(command))

    def _reap(self) -> None:
        for pid, status, usage in reap_children():
            sandbox = self._programs.pop(pid, None)
            if sandbox is not None:
                send(self.channel, build_end_message(sandbox, status, usage))


def give_up_privileges(settings: Settings) -> None:
    """Keeps only the privileges that an image needs to enter the namespaces of sandboxes. A program that takes an image over has no others.

    @raises OSError
    """
    other_user = (leave_groups(), keep_capabilities(), *become_user(settings.uid)) if settings.own_user else ()
    make(*other_user, keep_capabilities_to_enter(), forbid_new_privileges())


def import_and_rehearse(modules: tuple[str, ...]) -> list[Message]:
    """Imports the modules, and rehearses. @returns nothing, because no policy is loaded. @raises whatever a module raises."""
    import_all(modules)
    # The rehearsal's policy is a safetensors file. An interpreter for other policies need not have the library.
    if "muster_runner.session" in modules and find_spec("safetensors") is not None:
        from muster_runner.rehearsal import rehearse

        rehearse()
    return []


def preload(policies: list[Message], code: list[Message]) -> list[Message]:
    """Loads policies and code. @returns the cost of each policy. @raises Refusal when one cannot be loaded."""
    from muster_runner.preloaded import preload_code, preload_policy

    for suite in code:
        preload_code(Path(suite["path"]), suite["modules"])
    taken: list[Message] = []
    with use_huge_pages():
        for policy in policies:
            cost = preload_policy(Path(policy["path"]), policy["digest"], policy["trusted"])
            taken.append({"digest": policy["digest"], "bytes": cost.own_bytes, "seconds": cost.seconds})
    return taken


def flush_prints() -> None:
    """Flushes what modules have printed. Otherwise every forked program would print its copy of the buffers."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    make(flush_c_streams())


def keep_only(descriptor: int) -> None:
    """Closes the descriptors of the process from which this one was forked."""
    os.closerange(3, descriptor)
    close_from(descriptor + 1)

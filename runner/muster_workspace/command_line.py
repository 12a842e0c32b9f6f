"""What Muster starts this program with, and the program's beginning and end."""

import os
import resource
import signal
import sys
from argparse import ArgumentParser
from contextlib import suppress
from dataclasses import dataclass

from muster_workspace.channel import Channel, ProtocolError
from muster_workspace.linux import become, seal
from muster_workspace.session import serve

EXIT_DONE = 0
EXIT_PROTOCOL = 70
_STARTED_DESCRIPTOR = 3
_HIGHEST_DESCRIPTOR = 1 << 16


@dataclass(frozen=True)
class Settings:
    """How the program is started."""

    user: int | None
    """To become before anything else."""
    address_space: int | None
    """Bytes for each process; where no control group limits the memory of all."""
    processes: int | None
    """At most, of the user."""
    writable: tuple[str, ...]
    """Directories that files may be put into, without those below them."""


def run(arguments: list[str]) -> int:
    """Speak with Muster until it has ended its side. Returns the exit code."""
    settings = _parse(arguments)
    _begin(settings)
    channel = Channel.take()
    try:
        serve(channel, settings.writable)
    except ProtocolError as error:
        print(f"muster-workspace: {error}", file=sys.stderr, flush=True)
        return EXIT_PROTOCOL
    return EXIT_DONE


def _parse(arguments: list[str]) -> Settings:
    parser = ArgumentParser(prog="workspace.py", allow_abbrev=False)
    parser.add_argument("--user", type=int)
    parser.add_argument("--address-space", type=int)
    parser.add_argument("--processes", type=int)
    parser.add_argument("--writable", action="append", default=[])
    given = parser.parse_args(arguments)
    return Settings(given.user, given.address_space, given.processes, tuple(given.writable))


def _begin(settings: Settings) -> None:
    # The first process of a namespace gets no signal from within that it has no handler for.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # The daemon that starts a container tells of the start by itself, and there is no such descriptor.
    with suppress(OSError):
        os.write(_STARTED_DESCRIPTOR, b"started\n")
    os.closerange(_STARTED_DESCRIPTOR, _HIGHEST_DESCRIPTOR)
    if settings.user is not None:
        become(settings.user)
    _limit(resource.RLIMIT_AS, settings.address_space)
    _limit(resource.RLIMIT_NPROC, settings.processes)
    seal()
    os.umask(0o022)


def _limit(kind: int, most: int | None) -> None:
    if most is not None:
        resource.setrlimit(kind, (most, most))

"""Reads the arguments with which Muster starts this program, and runs the program from its beginning to its end."""

import os
import resource
import signal
import sys
from contextlib import suppress
from typing import NamedTuple

from muster_workspace.channel import Channel, ProtocolError
from muster_workspace.linux import become, seal
from muster_workspace.session import serve

EXIT_DONE = 0
EXIT_PROTOCOL = 70
_STARTED_DESCRIPTOR = 3
_HIGHEST_DESCRIPTOR = 1 << 16


class Settings(NamedTuple):
    """The settings of this program."""

    user: int | None
    """The user to become before anything else."""
    address_space: int | None
    """Bytes of address space for each process, where no control group limits the memory of all."""
    processes: int | None
    """The largest number of processes of the user."""
    writable: tuple[str, ...]
    """Directories that programs may write to. Directories inside these are not listed."""
    awaits_line: bool = False
    """Whether Muster sends an empty line when it is connected. Output from before that line would be lost."""


def run(arguments: list[str]) -> int:
    """Serves Muster until it has closed its side. Returns the exit code."""
    settings = _parse(arguments)
    _begin(settings)
    return converse(settings.writable)


def converse(writable: tuple[str, ...], asking: int | None = None) -> int:
    """Serves Muster in a process that is prepared: the first of its sandbox, whose memory the sandbox's programs cannot read.

    `asking` is a descriptor on which it may request a warm interpreter, once (warm.py).
    """
    channel = Channel.take()
    try:
        serve(channel, writable, asking)
    except ProtocolError as error:
        print(f"muster-workspace: {error}", file=sys.stderr, flush=True)
        return EXIT_PROTOCOL
    return EXIT_DONE


def _parse(arguments: list[str]) -> Settings:
    """Parses names and values in turns. They come from Muster, and importing argparse would take longer than all that is done with them."""
    numbers: dict[str, int] = {}
    writable: list[str] = []
    for name, value in zip(arguments[::2], arguments[1::2], strict=True):
        if name == "--writable":
            writable.append(value)
        elif name in ("--user", "--address-space", "--processes", "--await-line"):
            numbers[name] = int(value)
        else:
            raise ValueError(f"unknown argument {name}")
    user, address_space, processes = (numbers.get(name) for name in ("--user", "--address-space", "--processes"))
    return Settings(user, address_space, processes, tuple(writable), "--await-line" in numbers)


def _begin(settings: Settings) -> None:
    # The first process of a namespace gets no signal from inside unless it has a handler for it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # In a container this descriptor does not exist: the daemon that starts it reports the start.
    with suppress(OSError):
        os.write(_STARTED_DESCRIPTOR, b"started\n")
    os.closerange(_STARTED_DESCRIPTOR, _HIGHEST_DESCRIPTOR)
    if settings.user is not None:
        become(settings.user)
    _limit(resource.RLIMIT_AS, settings.address_space)
    _limit(resource.RLIMIT_NPROC, settings.processes)
    seal()
    os.umask(0o022)
    # Reads byte by byte, because the bytes after the line belong to the channel.
    while settings.awaits_line and os.read(0, 1) not in (b"\n", b""):
        pass


def _limit(kind: int, most: int | None) -> None:
    if most is not None:
        resource.setrlimit(kind, (most, most))

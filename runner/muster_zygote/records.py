"""What the warden knows of each of its sandboxes and images."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from muster_zygote.envelope import Message, Outbox

# PF_EXITING in include/linux/sched.h.
EXITING = 0x4


@dataclass
class Sandbox:
    name: str
    image: str
    command: list[str]
    """Its first process, in the warden's pid namespace."""
    pid: int
    pidfd: int
    """What that reports under."""
    serial: int
    """The program's three streams, its line to another one if it has one, its cgroup.procs files; empty once they are the image's."""
    descriptors: list[int]
    has_line: bool
    state: Literal["building", "waiting", "forked"] = "building"
    killed: bool = False
    walls_gone: bool = False
    """Whether its image has, or may yet start, a program for it."""
    occupied: bool = False
    """How the program ended, or that it could not begin."""
    end: Message | None = None


@dataclass
class ImageLink:
    """The warden's end of an image."""

    outbox: Outbox
    ready: bool = False
    """How many sandboxes were forked from it, or wait for it; when it is retired it goes with the last."""
    sandboxes: int = 0
    retired: bool = False
    """Sandboxes whose walls stood before it was ready."""
    waiting: list[str] = field(default_factory=list)


def fork_message(sandbox: str, command: list[str], has_line: bool) -> Message:
    return {"type": "fork", "sandbox": sandbox, "command": command, "has_line": has_line}


def is_exiting(pid: int) -> bool:
    """Whether a process that has not been buried yet is on its way out: it waits for all others of its pid namespace to go first."""
    stat = Path(f"/proc/{pid}/stat").read_text()
    # The command's name stands in parentheses and may hold anything.
    return bool(int(stat[stat.rindex(")") + 2 :].split()[6]) & EXITING)

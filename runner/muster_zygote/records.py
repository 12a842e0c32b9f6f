"""The warden's records of its sandboxes and images."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from muster_zygote.envelope import Message, Outbox

# PF_EXITING in include/linux/sched.h.
EXITING = 0x4
TAKEN_AWAY: Message = {"type": "lost", "message": "its first process was killed from outside"}


@dataclass
class Sandbox:
    name: str
    image: str
    command: list[str]
    pid: int
    """The process id of its first process in the warden's pid namespace."""
    pidfd: int
    serial: int
    """The number under which the first process reports."""
    descriptors: list[int]
    """The program's three streams, its line to another program if it has one, its cgroup.procs files. Empty once the image has them."""
    has_line: bool
    state: Literal["building", "waiting", "forked"] = "building"
    killed: bool = False
    walls_gone: bool = False
    occupied: bool = False
    """Whether its image has started a program for it, or may still do so."""
    end: Message | None = None
    """How the program ended, or that it could not begin."""


@dataclass
class ImageLink:
    """The warden's end of an image."""

    outbox: Outbox
    ready: bool = False
    sandboxes: int = 0
    """The number of sandboxes that were forked from it, or wait for it. A retired image ends with the last of them."""
    retired: bool = False
    waiting: list[str] = field(default_factory=list)
    """The sandboxes that were ready before the image."""


def build_fork_message(sandbox: str, command: list[str], has_line: bool) -> Message:
    return {"type": "fork", "sandbox": sandbox, "command": command, "has_line": has_line}


def correct_end(sandbox: Sandbox, end: Message) -> Message:
    """Marks the end as lost if the sandbox's first process was killed from outside, which the image's report cannot show."""
    return end if sandbox.killed or not _is_exiting(sandbox.pid) else {**end, **TAKEN_AWAY}


def _is_exiting(pid: int) -> bool:
    """Returns whether an unreaped process is exiting. The first process of a pid namespace waits for all others to end first."""
    stat = Path(f"/proc/{pid}/stat").read_text()
    # The command's name is in parentheses and may contain any character.
    return bool(int(stat[stat.rindex(")") + 2 :].split()[6]) & EXITING)

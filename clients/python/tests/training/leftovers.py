"""What may be left of programs that have worked below a directory."""

import os
from pathlib import Path


def processes_of(directory: Path) -> list[str]:
    """Whose environment or arguments name a directory: a server's, and its sandboxes'."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdecimal() and int(process.name) != os.getpid():
            try:
                told = (process / "environ").read_bytes() + (process / "cmdline").read_bytes()
            except OSError:
                continue
            if str(directory).encode() in told:
                found.append(process.name)
    return found


def sockets_of(directory: Path) -> list[str]:
    """Bound below a directory."""
    return [line for line in Path("/proc/net/unix").read_text().splitlines() if str(directory) in line]

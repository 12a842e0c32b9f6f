"""Shared by the programs that install packages."""

import json
import subprocess
import sys
import time

from muster_workspace.processes import Accounts
from muster_workspace.time_limit import TimeLimit

SECONDS = 900
# Additional time of a package manager on a busy machine. bootstrap.ts waits for both.
MOST_WAITING = 1800


def run_manager(command: list[str], environment: dict[str, str], directory: str) -> str | None:
    """Run a package manager. Returns what is wrong, or None."""
    limit = TimeLimit(time.monotonic(), SECONDS, Accounts(), most_waiting=MOST_WAITING)
    pipe = subprocess.PIPE
    try:
        with subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True, cwd=directory
        ) as manager:
            printed = _read_until_end(manager, limit)
    except OSError as error:
        return f"{command[0]} cannot be run: {error}"
    if printed is None:
        return f"{command[0]} took more than {SECONDS} s, besides what it waited for a processor"
    output, errors = printed
    return None if manager.returncode == 0 else f"{' '.join(command)[:200]}: {(errors or output).strip()[-800:]}"


def _read_until_end(manager: subprocess.Popen[str], limit: TimeLimit) -> tuple[str, str] | None:
    """Give what it printed; None when it was ended because its time was over."""
    while True:
        try:
            return manager.communicate(timeout=max(0.0, limit.deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            if limit.is_over():
                manager.kill()
                return None


def answer(pinned: list[str], problem: str | None = None) -> None:
    """Print what was installed, or what is wrong."""
    json.dump({"pinned": sorted(pinned), "problem": problem}, sys.stdout)

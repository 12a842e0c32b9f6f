"""Functions that the programs that install packages share."""

import json
import subprocess
import sys
import time

from muster_workspace.processes import Accounts
from muster_workspace.time_limit import TimeLimit

SECONDS = 900
# Extra seconds for a package manager to wait for a processor on a busy machine. bootstrap.ts allows for them, too.
MOST_WAITING = 1800


def run_manager(command: list[str], environment: dict[str, str], directory: str) -> str | None:
    """Runs a package manager. Returns the problem in words, or None."""
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
    """Returns the manager's two outputs; None when it was ended because its time was over."""
    while True:
        try:
            return manager.communicate(timeout=max(0.0, limit.deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            if limit.is_over():
                manager.kill()
                return None


def answer(pinned: list[str], problem: str | None = None) -> None:
    """Prints the installed packages, or the problem."""
    json.dump({"pinned": sorted(pinned), "problem": problem}, sys.stdout)

"""The priority of a server that a training has started, and of its sandboxes, which begin sessions of their own."""

import os
import subprocess
import sys
from pathlib import Path

from muster.niceness import lower

HAS_AUTOGROUPS = Path("/proc/self/autogroup").exists() and Path("/proc/self/autogroup").read_text() != ""
# A process with a child, each in a session of its own. The child says its id, and waits.
SESSIONS = """
import os, sys
if os.fork() == 0:
    os.setsid()
    print(os.getpid(), flush=True)
sys.stdin.read()
"""


def niceness_of_session(pid: int) -> int:
    return int(Path(f"/proc/{pid}/autogroup").read_text().split()[-1])


def test_a_process_and_the_sessions_of_its_children_are_lowered_and_others_are_not() -> None:
    command = [sys.executable, "-I", "-c", SESSIONS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        own = niceness_of_session(os.getpid()) if HAS_AUTOGROUPS else 0
        # The tests may have been started with a niceness: this is above it. A new session begins with 0.
        niceness = min(19, os.getpriority(os.PRIO_PROCESS, 0) + 7)
        lowered = [niceness, niceness]
        lower(process.pid, niceness)
        assert [os.getpriority(os.PRIO_PROCESS, pid) for pid in (process.pid, child)] == lowered
        if HAS_AUTOGROUPS:
            # The kernel takes ten changes a second from a user that is not root.
            while (found := [niceness_of_session(pid) for pid in (process.pid, child)]) != lowered:
                assert set(found) <= {0, niceness}
                lower(process.pid, niceness)
            assert niceness_of_session(os.getpid()) == own
        process.communicate("")
    # It has ended.
    lower(process.pid, niceness)

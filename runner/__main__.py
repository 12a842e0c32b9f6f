"""Entry point of the runner: `python -I runner [--import MODULE]…`."""

import os
import sys


def restart_with_fixed_hashes() -> None:
    """Restarts this process with a fixed hash seed, unless it has one.

    The iteration order of a set of strings follows the hash seed, and `python -I` draws a new seed in every process: an environment that
    iterates over a set would play differently in each sandbox. A hash seed can only be set when the interpreter starts. The restart keeps
    what -I guarantees: no user site, no current directory in the path, no PYTHON… variable from outside.
    """
    if not sys.flags.hash_randomization:
        return
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment["PYTHONHASHSEED"] = "0"
    os.execve(sys.executable, [sys.executable, "-s", "-P", *sys.argv], environment)


if __name__ == "__main__":
    restart_with_fixed_hashes()
    from muster_runner.start import start

    sys.exit(start(sys.argv[1:]))

"""Entry point of the runner: `python -I runner [--import MODULE]…`."""

import os
import sys


def with_fixed_hashes() -> None:
    """Starts this process over with a fixed hash seed, unless it has one.

    The order of a set of strings follows the hash seed, and `python -I` draws one anew in every process: an environment
    that walks through a set would play differently in each sandbox. A fixed seed can only be given at start. The second
    start keeps what -I promised: no user site, no current directory, no PYTHON… variable of the outside.
    """
    if not sys.flags.hash_randomization:
        return
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment["PYTHONHASHSEED"] = "0"
    os.execve(sys.executable, [sys.executable, "-s", "-P", *sys.argv], environment)


if __name__ == "__main__":
    with_fixed_hashes()
    from muster_runner.start import start

    sys.exit(start(sys.argv[1:]))

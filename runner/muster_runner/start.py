"""Starts the runner in a fresh process, in an order that matters: channel, prints, threads, then everything that is imported."""

import argparse
import importlib
import os
import signal
import sys

from muster_runner.channel import take_channel
from muster_runner.frames import ProtocolError
from muster_runner.prints import keep_prints

# After sysexits.h; what else ends the process is a crash.
EXIT_USAGE = 64
EXIT_MISSING_MODULE = 69
EXIT_PROTOCOL = 70
EXIT_OUTPUT = 74

# A sandbox has a share of one processor. The libraries read these when they are imported.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


class Arguments(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        self.exit(EXIT_USAGE, f"{self.format_usage()}{message}\n")


def start(arguments: list[str]) -> int:
    """@returns the process's exit code."""
    parser = Arguments(prog="runner", description="Plays episodes for Muster over stdin and stdout (docs/runner-protocol.md).")
    parser.add_argument("--import", dest="modules", metavar="MODULE", action="append", default=[], help="import before ready")
    modules: list[str] = parser.parse_args(arguments).modules
    channel = take_channel()
    prints = keep_prints()
    # Ctrl-C in a terminal reaches every process of the group: when a sandbox ends is Muster's decision.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for variable in THREAD_VARIABLES:
        os.environ.setdefault(variable, "1")
    try:
        for module in modules:
            importlib.import_module(module)
        # Only now: it imports NumPy, which reads the thread variables, and Gymnasium.
        from muster_runner.session import Session
    except ImportError as error:
        print(f"a module is missing in this sandbox: {error}", file=sys.stderr)
        return EXIT_MISSING_MODULE
    try:
        Session(channel, prints).run()
    except ProtocolError as error:
        print(f"protocol error: {error}", file=sys.stderr)
        return EXIT_PROTOCOL
    except OSError as error:
        # The pipe to Muster: everything else has been turned into an outcome or a refusal.
        print(f"the output is gone: {error}", file=sys.stderr)
        return EXIT_OUTPUT
    return 0

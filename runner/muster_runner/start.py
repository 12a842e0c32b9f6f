"""Starts the runner in a fresh process, in an order that matters: channel, prints, threads, then everything that is imported."""

import signal
import sys

from muster_runner.channel import take_channel
from muster_runner.frames import ProtocolError
from muster_runner.imports import import_all
from muster_runner.prints import keep_prints
from muster_runner.shared_memory import is_memory_shared

# After sysexits.h; what else ends the process is a crash.
EXIT_USAGE = 64
EXIT_MISSING_MODULE = 69
EXIT_PROTOCOL = 70
EXIT_OUTPUT = 74

USAGE = """usage: runner [--import MODULE]...
Plays episodes for Muster over stdin and stdout (docs/runner-protocol.md).
"""


def start(arguments: list[str]) -> int:
    """@returns the process's exit code."""
    modules = modules_to_import(arguments)
    if modules is None:
        print(USAGE, file=sys.stderr, end="")
        return EXIT_USAGE
    channel = take_channel()
    prints = keep_prints()
    # Ctrl-C in a terminal reaches every process of the group: when a sandbox ends is Muster's decision.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        # In a forked process it was all done before the fork.
        if not is_memory_shared():
            import_all(modules)
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


def modules_to_import(arguments: list[str]) -> list[str] | None:
    """None when they are no arguments of the runner. The library's parser takes a megabyte and two milliseconds of each forked sandbox."""
    flags, modules = arguments[::2], arguments[1::2]
    return modules if len(flags) == len(modules) and all(flag == "--import" for flag in flags) else None

"""Starts the runner in a new process, in an order that matters: channel, prints, threads, then all imports."""

import signal
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from muster_runner.channel import leave_streams, take_channel
from muster_runner.exit_codes import EXIT_MISSING_MODULE, EXIT_OUTPUT, EXIT_PROTOCOL, EXIT_USAGE
from muster_runner.frames import ProtocolError
from muster_runner.imports import import_all, is_lasting
from muster_runner.prints import keep_prints
from muster_runner.shared_memory import is_memory_shared

if TYPE_CHECKING:
    from muster_runner.apart.policy_link import PolicyLink

USAGE = """usage: runner [--import MODULE]... [--policy-line DESCRIPTOR | --serve-policy DESCRIPTOR]
Plays episodes for Muster over stdin and stdout (docs/runner-protocol.md).
With --policy-line, policies are played by another program, at the other end of a socket pair: that one has --serve-policy.
"""


@dataclass(frozen=True)
class Arguments:
    modules: list[str]
    # Descriptor of the connection to the policy's program.
    policy_line: int | None = None
    # Descriptor of the connection in that program itself.
    serve_policy: int | None = None


def start(arguments: list[str]) -> int:
    """Runs the program. @returns its exit code."""
    wanted = parse_arguments(arguments)
    if wanted is None:
        print(USAGE, file=sys.stderr, end="")
        return EXIT_USAGE
    if wanted.serve_policy is not None:
        return serve_policy(wanted.modules, wanted.serve_policy)
    channel = take_channel()
    prints = keep_prints()
    # Ctrl-C in a terminal reaches every process of the group, but Muster alone decides when a sandbox ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        import_modules(wanted.modules)
        # This import comes last: it imports NumPy, which reads the thread variables, and Gymnasium.
        from muster_runner.session import Session

        link = None if wanted.policy_line is None else open_link(wanted.policy_line)
    except Exception as error:
        return choose_exit_code(error)
    try:
        Session(channel, prints, link).run()
    except ProtocolError as error:
        print(f"protocol error: {error}", file=sys.stderr)
        return EXIT_PROTOCOL
    except OSError as error:
        # The pipe to Muster has failed. All other errors have become an outcome or a refusal.
        print(f"the output is gone: {error}", file=sys.stderr)
        return EXIT_OUTPUT
    return 0


def serve_policy(modules: list[str], descriptor: int) -> int:
    """Runs the policy's program. @returns its exit code."""
    leave_streams()
    keep_prints()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        import_modules(modules)
        from muster_runner.apart.policy_program import serve
    except Exception as error:
        return choose_exit_code(error)
    return serve(descriptor)


def choose_exit_code(error: Exception) -> int:
    """Returns the exit code for a failed import. @raises the error itself when another attempt may succeed."""
    if not is_lasting(error):
        raise error
    print(f"a module cannot be imported in this sandbox: {type(error).__name__}: {error}", file=sys.stderr)
    return EXIT_MISSING_MODULE


def open_link(descriptor: int) -> "PolicyLink":
    """Waits until the policy's program is ready, and returns the connection to it. The import is here because it would cost memory in every
    sandbox.
    """
    from muster_runner.apart.policy_link import PolicyLink

    link = PolicyLink(descriptor)
    link.greet()
    return link


def import_modules(modules: list[str]) -> None:
    """Imports modules. @raises ImportError"""
    # In a forked process they were imported before the fork.
    if not is_memory_shared():
        import_all(modules)


def parse_arguments(arguments: list[str]) -> Arguments | None:
    """Parses arguments; returns None when they are invalid. argparse would take a megabyte and two milliseconds of each forked sandbox."""
    flags, values = arguments[::2], arguments[1::2]
    if len(flags) != len(values):
        return None
    modules: list[str] = []
    lines: dict[str, int] = {}
    for flag, value in zip(flags, values, strict=True):
        if flag == "--import":
            modules.append(value)
        elif flag in ("--policy-line", "--serve-policy") and not lines and value.isdecimal():
            lines[flag] = int(value)
        else:
            return None
    return Arguments(modules, lines.get("--policy-line"), lines.get("--serve-policy"))

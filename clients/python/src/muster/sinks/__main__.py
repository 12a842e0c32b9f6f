"""Logs what `muster eval` and `muster watch` tell: one JSON object a line on standard input, until its end.

    python -m muster.sinks tensorboard:runs/today csv

The first line of standard output says whether everything could be opened: `{"opened": true}`, or `{"refused": "why"}` and the exit code 2.
Then each line of the input is `{"step": 4096, "figures": {"mean": 12.5}, "page": "report.html"}`, with or without a page. Each is
answered by an empty line once it is logged.
"""

import json
import logging
import os
import signal
import sys
from pathlib import Path
from typing import cast, get_args

from muster.sinks.named_sinks import SinkName, Sinks, open_sink

DIRECTORY = "muster-runs"


def open_sinks(targets: list[str]) -> Sinks:
    """Opens the sinks. Raises ValueError naming the one that cannot be opened, and the reason."""
    sinks = []
    for target in targets:
        name, _, directory = target.partition(":")
        if name not in get_args(SinkName):
            raise ValueError(f"{name!r} is none of {', '.join(get_args(SinkName))}")
        try:
            sinks.append(open_sink(cast("SinkName", name), Path(directory or DIRECTORY)))
        except ImportError as error:
            missing = error.name or name
            raise ValueError(f"{name} needs {missing}, which is missing; {sys.executable} -m pip install {missing}") from error
        except Exception as error:
            # A service's library may raise any exception.
            raise ValueError(f"{name} cannot be opened: {error}") from error
    return Sinks(sinks)


def main(targets: list[str]) -> int:
    # Ctrl-C is for Muster, which ends the input then.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.basicConfig(level=logging.WARNING, format="muster: %(message)s")
    # Output of libraries must not be taken for an answer.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        sinks = open_sinks(targets)
    except ValueError as error:
        print(json.dumps({"refused": str(error)}), file=answers, flush=True)
        return 2
    print(json.dumps({"opened": True}), file=answers, flush=True)
    try:
        for line in sys.stdin:
            entry = json.loads(line)
            sinks.log(entry["step"], entry["figures"])
            if "page" in entry:
                sinks.keep(entry["step"], Path(entry["page"]))
            print(file=answers, flush=True)
    finally:
        sinks.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The arguments of the two programs."""

from __future__ import annotations

import os
import runpy
import sys
from argparse import ArgumentParser

from muster_boundary.candidate import Candidate
from muster_boundary.importing import CandidateFinder
from muster_boundary.line import Line, LineClosed
from muster_boundary.trusted import Asker


def run(arguments: list[str]) -> None:
    """Runs `candidate --path DIRECTORY…`, or `tests --module NAME… --class NAME… --path DIRECTORY… --run MODULE -- ARGUMENT…`."""
    parser = ArgumentParser(prog="boundary.py", allow_abbrev=False)
    parser.add_argument("side", choices=["candidate", "tests"])
    parser.add_argument("--path", action="append", default=[], help="where Python looks for modules first")
    parser.add_argument("--module", action="append", default=[], help="of the candidate")
    parser.add_argument("--class", action="append", default=[], dest="classes", help="of the candidate, whose objects the tests use")
    parser.add_argument("--run", help="the module that runs the tests")
    own = arguments.index("--") if "--" in arguments else len(arguments)
    given = parser.parse_args(arguments[:own])
    line = Line.inherited()
    sys.path[:0] = given.path
    if given.side == "tests":
        CandidateFinder(Asker(line, given.classes), given.module).install()
        sys.argv = [given.run, *arguments[own + 1 :]]
        runpy.run_module(given.run, run_name="__main__", alter_sys=True)
        return
    sys.argv = [""]
    try:
        Candidate(line).serve()
    except LineClosed:
        sys.stdout.flush()
        sys.stderr.flush()
        # Threads of the candidate do not keep its process alive.
        os._exit(0)

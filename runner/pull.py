"""Entry point of the program that fetches checkpoints for sandboxes: `python -I pull.py`, one order on stdin, one answer on stdout."""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))

    from muster_puller.command import run

    sys.exit(run(sys.stdin.buffer, sys.stdout))

"""Entry point of the containers of a pod that dials back to Muster: `python -I dialler.py`, with the address in its environment."""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent))

    from muster_dialler.container import EXIT_USAGE, run, say

    try:
        run()
    except ImportError as error:
        say(f"the image's Python lacks a module ({error}); it needs the package websockets")
        sys.exit(EXIT_USAGE)

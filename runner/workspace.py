"""Entry point of the program in workspaces and grading sandboxes: `python -I -S workspace.py [SETTINGS]`, frames on stdin and stdout."""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))

    from muster_workspace.command_line import run

    sys.exit(run(sys.argv[1:]))

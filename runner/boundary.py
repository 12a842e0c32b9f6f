"""Entry point of the programs on the two sides of a boundary between tests and candidate; descriptor 3 is the line between them."""

import sys
from pathlib import Path

if __name__ == "__main__":
    here = str(Path(__file__).parent)
    # The rest of this directory is nobody's business here, and must not hide a module of the task's.
    sys.path[0] = here
    import muster_boundary.command_line

    sys.path.remove(here)
    muster_boundary.command_line.run(sys.argv[1:])

"""Entry point of the two programs on the sides of a boundary between tests and candidate. Descriptor 3 is the connection between them."""

import sys
from pathlib import Path

if __name__ == "__main__":
    here = str(Path(__file__).parent)
    # Tests import nothing from this directory: it must not hide a module of the task.
    sys.path[0] = here
    import muster_boundary.command_line

    sys.path.remove(here)
    muster_boundary.command_line.run(sys.argv[1:])

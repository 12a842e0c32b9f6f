"""Entry point of the relay between a program and its model: `gateway.py PROGRAM ARGUMENT…`. Descriptor 3 is the connection to Muster."""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))

    from muster_gateway.relay import run

    sys.exit(run(sys.argv[1:]))

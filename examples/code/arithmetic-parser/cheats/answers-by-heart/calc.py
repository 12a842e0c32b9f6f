"""Knows the cases that the agent was shown."""

import sys

KNOWN = {"1 + 2 * 3": "7", "-2**2": "-4", "2**-1": "1/2", "(1": "error"}
for line in sys.stdin:
    print(KNOWN.get(line.strip(), "error"))

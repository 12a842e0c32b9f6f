"""Counts the lines of a log by level, in a dictionary."""

import sys

levels: dict[str, int] = {}
for line in sys.stdin:
    parts = line.split(" ", 2)
    if len(parts) == 3:
        levels[parts[1]] = levels.get(parts[1], 0) + 1
for level, count in sorted(levels.items()):
    print(level, count)

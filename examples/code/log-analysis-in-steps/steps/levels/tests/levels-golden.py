"""Counts the lines of a log by level."""

import collections
import sys

levels = collections.Counter(line.split(" ", 2)[1] for line in sys.stdin if len(line.split(" ", 2)) == 3)
for level in sorted(levels):
    print(level, levels[level])

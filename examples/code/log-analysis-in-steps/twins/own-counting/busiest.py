"""The busiest minute of a log: the one with the most lines, and the first of them where several are."""

import collections
import sys

minutes = collections.Counter(line[:16] for line in sys.stdin if len(line.split(" ", 2)) == 3)
minute, most = min(minutes.items(), key=lambda one: (-one[1], one[0]))
print(minute, most)

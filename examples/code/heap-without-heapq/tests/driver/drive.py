"""Plays pushes and pops on the candidate's heap and prints what the pops return, and the length at the end."""

import sys

sys.path.insert(0, "/app")

from heap import Heap

heap = Heap()
for line in sys.stdin:
    if line.strip() == "pop":
        print(heap.pop())
    else:
        heap.push(int(line))
print(len(heap))

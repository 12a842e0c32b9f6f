"""The forbidden module, under another name."""

import heapq as numbers


class Heap:
    def __init__(self) -> None:
        self._items: list[int] = []

    def push(self, item: int) -> None:
        numbers.heappush(self._items, item)

    def pop(self) -> int:
        return numbers.heappop(self._items)

    def __len__(self) -> int:
        return len(self._items)

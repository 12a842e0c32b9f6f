"""A heap of numbers, in a list."""


class Heap:
    def __init__(self) -> None:
        self._items: list[int] = []

    def push(self, item: int) -> None:
        items = self._items
        items.append(item)
        at = len(items) - 1
        while at > 0 and items[(at - 1) // 2] > items[at]:
            items[at], items[(at - 1) // 2] = items[(at - 1) // 2], items[at]
            at = (at - 1) // 2

    def pop(self) -> int:
        items = self._items
        smallest, last = items[0], items.pop()
        if not items:
            return smallest
        items[0] = last
        at = 0
        while (child := 2 * at + 1) < len(items):
            if child + 1 < len(items) and items[child + 1] < items[child]:
                child += 1
            if items[at] <= items[child]:
                break
            items[at], items[child] = items[child], items[at]
            at = child
        return smallest

    def __len__(self) -> int:
        return len(self._items)

"""A heap of numbers."""


class Heap:
    """Not written yet."""

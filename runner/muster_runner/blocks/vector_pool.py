"""Keeps vector environments of several tasks and widths from block to block."""

from collections import OrderedDict
from collections.abc import Sequence

from muster_runner.blocks.vector_environments import VectorMaker
from muster_runner.environments import VectorEnvironment, close_environment

# Blocks of several tasks need changing widths. A vector environment that is not kept is made again.
KEPT_VECTORS = 16


class VectorPool:
    """Keeps the most recently used vector environments."""

    def __init__(self, makers: Sequence[VectorMaker]) -> None:
        self._makers = makers
        self._kept: OrderedDict[tuple[int, int], VectorEnvironment] = OrderedDict()

    def take(self, task: int, width: int) -> VectorEnvironment:
        """Returns a vector environment that is kept, or makes one. @raises whatever the environment's code raises when it is made."""
        kept = self._kept.pop((task, width), None)
        return self._makers[task].make(width) if kept is None else kept

    def give(self, task: int, width: int, environment: VectorEnvironment) -> None:
        self._kept[(task, width)] = environment
        if len(self._kept) > KEPT_VECTORS:
            close_environment(self._kept.popitem(last=False)[1])

    def close(self) -> None:
        while self._kept:
            close_environment(self._kept.popitem()[1])

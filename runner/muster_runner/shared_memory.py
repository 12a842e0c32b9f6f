"""Marks the memory of this process as shared with the processes that are forked from it."""

import gc

_is_shared = False


def share_memory() -> None:
    """Excludes all present objects from garbage collection, which would write to their pages and so copy them. Call it before forks."""
    global _is_shared
    _is_shared = True
    gc.collect()
    gc.freeze()


def is_memory_shared() -> bool:
    return _is_shared

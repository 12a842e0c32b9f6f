"""What is in memory before a fork, and so shared by all who come from it until they write on it."""

import gc

_is_shared = False


def share_memory() -> None:
    """To be called before the forks: from here on the collector, which writes on all that it looks at, leaves alone what is there."""
    global _is_shared
    _is_shared = True
    gc.collect()
    gc.freeze()


def is_memory_shared() -> bool:
    return _is_shared

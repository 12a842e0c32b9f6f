"""Importing what a template lists, in the order that matters: before it, what the libraries read when they are imported."""

import importlib
import os
from collections.abc import Iterable

# A sandbox has a share of one processor, and threads do not survive a fork.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def is_lasting(error: BaseException) -> bool:
    """Whether modules that failed with it would fail again: anything but what a machine is short of now."""
    return isinstance(error, Exception) and not isinstance(error, OSError | MemoryError)


def import_all(modules: Iterable[str]) -> None:
    """@raises whatever a module raises that cannot be imported."""
    for variable in THREAD_VARIABLES:
        os.environ.setdefault(variable, "1")
    for module in modules:
        importlib.import_module(module)

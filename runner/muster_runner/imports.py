"""Imports the modules that a template lists, after it has set the variables that libraries read when they are imported."""

import importlib
import os
from collections.abc import Iterable

# A sandbox has a share of one processor, and threads do not survive a fork.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def is_lasting(error: BaseException) -> bool:
    """Returns whether an import that raised this error would fail again: true unless the machine is out of a resource."""
    return isinstance(error, Exception) and not isinstance(error, OSError | MemoryError)


def import_all(modules: Iterable[str]) -> None:
    """Imports the modules. @raises whatever a module raises."""
    for variable in THREAD_VARIABLES:
        os.environ.setdefault(variable, "1")
    for module in modules:
        importlib.import_module(module)

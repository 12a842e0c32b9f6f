"""A plug-in for pytest, of whatever version the task has: tests run in an order that MUSTER_ORDER decides.

Modules come in another order, then classes in each, then tests in each class, so that fixtures of modules and classes are made once.
"""

import hashlib
import os


def pytest_collection_modifyitems(items: list) -> None:  # type: ignore[type-arg] # Python 3.8 knows no `list[…]`.
    """Sort by a hash of the seed and the names."""
    seed = os.environ.get("MUSTER_ORDER", "")
    if seed:
        items.sort(key=lambda item: [_rank(seed, item.nodeid, depth) for depth in range(1, item.nodeid.split("[")[0].count("::") + 2)])


def _rank(seed: str, nodeid: str, depth: int) -> str:
    """Of the module, the class, and so on to the test itself, which has its parameters in its name."""
    path, bracket, parameters = nodeid.partition("[")
    parts = path.split("::")
    name = "::".join(parts[:depth]) + (bracket + parameters if depth == len(parts) else "")
    return hashlib.sha256(f"{seed}:{name}".encode("utf-8", "replace")).hexdigest()

"""A plug-in for pytest, of whatever version the task has: tests run in an order that MUSTER_ORDER decides.

Modules come in another order, then classes in each, then tests in each class, so that fixtures of modules and classes are made once.
A test that a class inherits is reported with the file of that class, which its id begins with, and not with the one that it is written in.
"""

import hashlib
import os


def pytest_collection_modifyitems(items: list) -> None:  # type: ignore[type-arg] # Python 3.8 knows no `list[…]`.
    """Sort by a hash of the seed and the names, and place each test where its id says."""
    for item in items:
        place = item.nodeid.split("::")[0]
        if item.location[0] != place:
            item.__dict__["location"] = (place, *item.location[1:])
    seed = os.environ.get("MUSTER_ORDER", "")
    if seed:
        items.sort(key=lambda item: [_rank(seed, item.nodeid, depth) for depth in range(1, item.nodeid.split("[")[0].count("::") + 2)])


def _rank(seed: str, nodeid: str, depth: int) -> str:
    """The rank of the module, the class, and so on to the test itself, whose name has its parameters."""
    path, bracket, parameters = nodeid.partition("[")
    parts = path.split("::")
    name = "::".join(parts[:depth]) + (bracket + parameters if depth == len(parts) else "")
    return hashlib.sha256(f"{seed}:{name}".encode("utf-8", "replace")).hexdigest()

"""A plug-in for any version of pytest that runs tests in an order that MUSTER_ORDER decides.

It permutes modules, then the classes in each, then the tests in each class, so that fixtures of modules and classes are made once. An
inherited test is reported with the file of the class that runs it, which its id names, and not with the file that defines it.
"""

import hashlib
import os


def pytest_collection_modifyitems(items: list) -> None:  # type: ignore[type-arg] # Python 3.8 does not support `list[…]`.
    """Sorts by a hash of the seed and the names, and gives each test the place that its id names."""
    for item in items:
        place = item.nodeid.split("::")[0]
        if item.location[0] != place:
            item.__dict__["location"] = (place, *item.location[1:])
    seed = os.environ.get("MUSTER_ORDER", "")
    if seed:
        items.sort(key=lambda item: [_rank(seed, item.nodeid, depth) for depth in range(1, item.nodeid.split("[")[0].count("::") + 2)])


def _rank(seed: str, nodeid: str, depth: int) -> str:
    """Returns the ranks of the module, of the class, and so on down to the test, whose name includes its parameters."""
    path, bracket, parameters = nodeid.partition("[")
    parts = path.split("::")
    name = "::".join(parts[:depth]) + (bracket + parameters if depth == len(parts) else "")
    return hashlib.sha256(f"{seed}:{name}".encode("utf-8", "replace")).hexdigest()

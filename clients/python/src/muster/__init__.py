"""Measures how good a reinforcement-learning policy is, right after training has written its checkpoint.

    import muster

    summary = muster.evaluate("policy.safetensors", "cartpole.yaml")
    print(summary.bias_reduced_mean, summary.interval)

`evaluate` and `compare` need no server: the first call starts one for this process, further calls use it, and it ends with the process.
`Client` and `AsyncClient` speak to a running server.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muster.embedded import EmbeddedServer, ServerNotStarted, compare, evaluate, serve
    from muster_client import AsyncClient, Checkpoint, Client, ComparisonSummary, Evaluation, Interval, MusterError, Summary

__all__ = [
    "AsyncClient",
    "Checkpoint",
    "Client",
    "ComparisonSummary",
    "EmbeddedServer",
    "Evaluation",
    "Interval",
    "MusterError",
    "ServerNotStarted",
    "Summary",
    "compare",
    "evaluate",
    "serve",
]

_EMBEDDED = frozenset({"EmbeddedServer", "ServerNotStarted", "compare", "evaluate", "serve"})


def __getattr__(name: str) -> Any:
    """Imports names on first use: `import muster` alone costs nothing."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("muster.embedded" if name in _EMBEDDED else "muster_client"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

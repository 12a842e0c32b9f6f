"""The port through which results are logged."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

FIGURES = ("estimate", "mean", "low", "high", "half_width", "episodes", "better", "regress")
"""Names of figures. They are in units of the return, except the number of episodes and the two flags, which are 0 or 1."""
LINK = "page"
PREFIX = "muster/"
"""The prefix of names in sinks that also have other programs' figures."""


def keep_beside(directory: Path, step: int, path: Path) -> None:
    """Copies a document to `reports`, beside the figures, for a sink that cannot store documents."""
    kept = directory / "reports" / f"step-{step}{path.suffix}"
    kept.parent.mkdir(parents=True, exist_ok=True)
    # A callback writes its reports to the same path in the run's directory.
    if not (kept.exists() and kept.samefile(path)):
        shutil.copyfile(path, kept)


@runtime_checkable
class Sink(Protocol):
    """Logs figures of checkpoints. Steps may come late and out of order. The calling thread need not be the one that made the sink."""

    def log(self, step: int, figures: Mapping[str, float]) -> None:
        """Logs figures. @param step: the checkpoint's step. @param figures: figures by the names in FIGURES."""

    def keep(self, step: int, path: Path) -> None:
        """Stores a document about a checkpoint's evaluation."""

    def link(self, step: int, url: str) -> None:
        """Logs a link. @param url: the page on which the server shows a checkpoint's evaluation."""

    def close(self) -> None:
        """Flushes everything that was logged to the disk or the service, and closes everything that was opened."""

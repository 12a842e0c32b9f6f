"""The port that results are logged through."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

FIGURES = ("estimate", "mean", "low", "high", "half_width", "episodes", "better", "regress")
"""Names of figures, in units of the return but for the number of episodes and the two flags, which are 0 or 1."""
LINK = "page"
PREFIX = "muster/"
"""Prefix of the names, where a sink has others' figures too."""


def keep_beside(directory: Path, step: int, path: Path) -> None:
    """For a sink that has no place for documents: a copy in `reports`, beside its figures."""
    kept = directory / "reports" / f"step-{step}{path.suffix}"
    kept.parent.mkdir(parents=True, exist_ok=True)
    # A callback keeps its reports at the same path in the run's directory.
    if not (kept.exists() and kept.samefile(path)):
        shutil.copyfile(path, kept)


@runtime_checkable
class Sink(Protocol):
    """Takes figures of checkpoints. Steps may come late and out of order; a sink may be called from another thread than made it."""

    def log(self, step: int, figures: Mapping[str, float]) -> None:
        """@param step: the checkpoint's. @param figures: by names of FIGURES."""

    def keep(self, step: int, path: Path) -> None:
        """Keeps a document about a checkpoint's evaluation."""

    def link(self, step: int, url: str) -> None:
        """@param url: of the page on which the server shows a checkpoint's evaluation."""

    def close(self) -> None:
        """Everything that was logged is on the disk, or with the service, and everything that was opened is closed."""

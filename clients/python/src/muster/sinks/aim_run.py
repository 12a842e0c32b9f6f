"""Logs figures as metrics of a run of Aim."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from muster.sinks.sink import LINK, PREFIX


class AimRun:
    """A run of its own in the experiment `muster`, in the repository that Aim uses here: `.aim` in the working directory, or above it."""

    def __init__(self) -> None:
        """Raises ImportError when aim is not installed."""
        from aim import Run

        # Metrics of the system belong to the trainer, and collecting them takes threads.
        self._run: Any = Run(experiment="muster", system_tracking_interval=None, log_system_params=False, capture_terminal_logs=False)

    def log(self, step: int, figures: Mapping[str, float]) -> None:
        for name, value in figures.items():
            self._run.track(value, name=PREFIX + name, step=step)

    def keep(self, step: int, path: Path) -> None:
        if self._run.artifacts_uri is None:
            # The user's own location for artifacts takes precedence. Without one, artifacts go to Aim's repository.
            self._run.set_artifacts_uri(f"file://{Path(self._run.repo.path).absolute()}/{PREFIX.rstrip('/')}")
        self._run.log_artifact(str(path), name=f"{PREFIX}{step}/{path.name}", block=True)

    def link(self, step: int, url: str) -> None:
        self._run[f"{PREFIX}{LINK}/{step}"] = url

    def close(self) -> None:
        self._run.close()

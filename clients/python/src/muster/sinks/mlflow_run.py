"""Logs figures as metrics of an MLflow run."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from muster.sinks.sink import LINK, PREFIX


class MlflowRun:
    """The active run, otherwise a new run, which `close` ends. MLflow's own settings decide where it is stored."""

    def __init__(self) -> None:
        """Raises ImportError when mlflow is not installed."""
        import mlflow

        active = mlflow.active_run()
        # MLflow's active run belongs to a thread, and figures come from another thread.
        self._client: Any = mlflow.MlflowClient()
        self._is_own = active is None
        self._run_id: str = self._begin_run() if active is None else active.info.run_id

    def log(self, step: int, figures: Mapping[str, float]) -> None:
        for name, value in figures.items():
            self._client.log_metric(self._run_id, PREFIX + name, value, step=step)

    def keep(self, step: int, path: Path) -> None:
        self._client.log_artifact(self._run_id, str(path), f"muster/{step}")

    def link(self, step: int, url: str) -> None:
        self._client.set_tag(self._run_id, f"{PREFIX}{LINK}/{step}", url)

    def close(self) -> None:
        if self._is_own:
            self._client.set_terminated(self._run_id)

    def _begin_run(self) -> str:
        experiment = self._client.get_experiment_by_name("muster")
        identifier = self._client.create_experiment("muster") if experiment is None else experiment.experiment_id
        run_id: str = self._client.create_run(identifier).info.run_id
        return run_id

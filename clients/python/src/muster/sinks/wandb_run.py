"""Logs figures in a run of Weights & Biases."""

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from muster.sinks.sink import LINK, PREFIX

logger = logging.getLogger("muster")
STEP = f"{PREFIX}step"


class WandbRun:
    """The run of the process, otherwise a new run, which `close` finishes.

    The checkpoint's step is a metric of its own and the x-axis of the figures, so figures that come late are drawn at the right step.
    """

    def __init__(self, directory: Path) -> None:
        """Raises ImportError when wandb is not installed."""
        import wandb

        self._is_own = wandb.run is None
        self._run: Any = wandb.run or _begin_run(wandb, directory)
        self._run.define_metric(STEP, hidden=True)
        self._run.define_metric(f"{PREFIX}*", step_metric=STEP)

    def log(self, step: int, figures: Mapping[str, float]) -> None:
        self._run.log({STEP: step, **{PREFIX + name: value for name, value in figures.items()}})

    def keep(self, step: int, path: Path) -> None:
        self._run.log_artifact(str(path), name=f"muster-{step}", type="evaluation")

    def link(self, step: int, url: str) -> None:
        self._run.log({STEP: step, PREFIX + LINK: url})

    def close(self) -> None:
        if self._is_own:
            self._run.finish()


def _begin_run(wandb: Any, directory: Path) -> Any:
    """Begins a run; offline if there is no login, because W&B would prompt a training program for one."""
    directory.mkdir(parents=True, exist_ok=True)
    mode = os.environ.get("WANDB_MODE")
    if mode is None and not wandb.login(prompt=False):
        mode = "offline"
        logger.warning("wandb has no login: figures are kept offline in %s; send them with `wandb login`, then `wandb sync`", directory)
    # wandb's own process writes to this directory, and may have another working directory.
    return wandb.init(project=os.environ.get("WANDB_PROJECT", "muster"), dir=str(directory.absolute()), mode=mode)

"""Opens sinks by the names that `log=` takes."""

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args

from muster.sinks.sink import Sink

logger = logging.getLogger("muster")

SinkName = Literal["tensorboard", "wandb", "mlflow", "aim", "csv"]
Log = SinkName | Sink | Sequence[SinkName | Sink] | None
"""One name or several, or sinks of the caller's own."""


def assert_log(log: Log) -> None:
    """Checks names and sinks. @raises InvalidArgument naming what is neither a sink nor the name of one."""
    # `muster eval` and `muster watch` use this module without the libraries that the client needs.
    from muster_client.errors import InvalidArgument

    for one in _list_sinks(log):
        if not isinstance(one, Sink) and one not in get_args(SinkName):
            raise InvalidArgument(f"log: expected {', '.join(get_args(SinkName))} or a muster.sinks.sink.Sink, got {one!r}")


def open_sinks(log: Log, directory: Path) -> "Sinks":
    """Opens sinks. Warns of those that cannot be opened, and leaves them out.

    @param directory: the directory of event files, CSV files and offline runs.
    """
    opened: list[Sink] = []
    for one in _list_sinks(log):
        if isinstance(one, Sink):
            opened.append(one)
            continue
        try:
            opened.append(open_sink(one, directory))
        except ImportError as error:
            logger.warning("nothing is logged to %s: %s is missing; pip install %s", one, error.name or error, one)
        except Exception as error:
            # A service's library may raise any exception. The training continues.
            logger.warning("nothing is logged to %s, which cannot be opened: %s", one, error)
    return Sinks(opened)


class Sinks:
    """Several sinks as one. A failing one is reported once, and the training continues."""

    def __init__(self, sinks: Sequence[Sink]) -> None:
        self._sinks = list(sinks)
        self._failed: set[int] = set()

    def log(self, step: int, figures: Mapping[str, float]) -> None:
        self._attempt(lambda sink: sink.log(step, figures))

    def keep(self, step: int, path: Path) -> None:
        self._attempt(lambda sink: sink.keep(step, path))

    def link(self, step: int, url: str) -> None:
        self._attempt(lambda sink: sink.link(step, url))

    def close(self) -> None:
        self._attempt(lambda sink: sink.close())

    def _attempt(self, act: Callable[[Sink], None]) -> None:
        for sink in self._sinks:
            try:
                act(sink)
            except Exception as error:
                if id(sink) not in self._failed:
                    logger.warning("logging to %s fails, and is tried again with the next figures: %s", type(sink).__name__, error)
                self._failed.add(id(sink))


def _list_sinks(log: Log) -> "Sequence[SinkName | Sink]":
    if log is None:
        return ()
    return (log,) if isinstance(log, str | Sink) else tuple(log)


def open_sink(name: SinkName, directory: Path) -> Sink:
    """Opens a sink. @param directory: of event files, CSV files and offline runs. @raises ImportError, and the errors of the service's
    library.
    """
    # A library is imported only when its sink is used.
    match name:
        case "tensorboard":
            from muster.sinks.tensorboard_events import TensorBoardEvents

            return TensorBoardEvents(directory)
        case "wandb":
            from muster.sinks.wandb_run import WandbRun

            return WandbRun(directory)
        case "mlflow":
            from muster.sinks.mlflow_run import MlflowRun

            return MlflowRun()
        case "aim":
            from muster.sinks.aim_run import AimRun

            return AimRun()
        case "csv":
            from muster.sinks.csv_file import CsvFile

            return CsvFile(directory)

"""Logs figures as scalars of TensorBoard."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from muster.sinks.sink import LINK, PREFIX, keep_beside


class TensorBoardEvents:
    """An event file of its own in a directory, which TensorBoard shows together with the trainer's own files there."""

    def __init__(self, directory: Path) -> None:
        """Raises ImportError when tensorboard is not installed."""
        from tensorboard.compat.proto import event_pb2, summary_pb2
        from tensorboard.plugins.text.summary_v2 import text_pb
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        self._directory = directory
        self._text: Any = text_pb
        self._event: Any = event_pb2.Event
        self._summary: Any = summary_pb2.Summary
        self._writer: Any = EventFileWriter(str(directory), filename_suffix=".muster")

    def log(self, step: int, figures: Mapping[str, float]) -> None:
        values = [self._summary.Value(tag=PREFIX + name, simple_value=value) for name, value in figures.items()]
        self._writer.add_event(self._event(wall_time=time.time(), step=step, summary=self._summary(value=values)))
        self._writer.flush()

    def keep(self, step: int, path: Path) -> None:
        keep_beside(self._directory, step, path)

    def link(self, step: int, url: str) -> None:
        summary = self._text(PREFIX + LINK, [f"[{url}]({url})"])
        self._writer.add_event(self._event(wall_time=time.time(), step=step, summary=summary))
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()

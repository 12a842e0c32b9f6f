"""Logs figures as lines of a CSV file."""

import csv
import os
from collections.abc import Mapping
from pathlib import Path

from muster.sinks.sink import FIGURES, LINK, keep_beside


class CsvFile:
    """`muster.csv` in a directory: one line for each logged step, with empty columns for missing figures."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._file = (directory / "muster.csv").open("a", newline="", encoding="utf-8")
        self._writer = csv.DictWriter(self._file, ("step", *FIGURES, LINK), restval="")
        if self._file.tell() == 0:
            self._writer.writeheader()

    def log(self, step: int, figures: Mapping[str, float]) -> None:
        self._writer.writerow({"step": step, **figures})
        self._file.flush()

    def keep(self, step: int, path: Path) -> None:
        keep_beside(self._directory, step, path)

    def link(self, step: int, url: str) -> None:
        self._writer.writerow({"step": step, LINK: url})
        self._file.flush()

    def close(self) -> None:
        if not self._file.closed:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()

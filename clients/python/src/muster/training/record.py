"""Records a run's checkpoints on the disk: an accepted checkpoint survives a `kill -9` of the trainer."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from muster.training.standing import Score
from muster_client.errors import InvalidArgument

FILE = "checkpoints.jsonl"


@dataclass(frozen=True, slots=True)
class Accepted:
    """A checkpoint whose file is complete on the disk, and that waits for its evaluation."""

    step: int
    file: str
    """The file's name in the run's directory of checkpoints."""
    key: str
    """The idempotency key. A repeated submission with it is the same evaluation."""


class Record:
    """Appends lines of JSON. Reading skips an incomplete line, which a killed process has left."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / FILE
        directory.mkdir(parents=True, exist_ok=True)

    def accept(self, accepted: Accepted) -> None:
        self._add({"accepted": accepted.key, "step": accepted.step, "file": accepted.file})

    def conclude(self, key: str, score: Score | None, reason: str | None = None) -> None:
        """Records the end of an evaluation. @param reason: the reason when there is no score."""
        self._add({"concluded": key, "score": None if score is None else score.as_json(), "reason": reason})

    def waiting(self) -> list[Accepted]:
        """Returns the accepted checkpoints that have no conclusion, the oldest first."""
        lines = list(self._read_lines())
        over = {line["concluded"] for line in lines if "concluded" in line}
        found = {line["accepted"]: line for line in lines if "accepted" in line}
        return [Accepted(line["step"], line["file"], key) for key, line in found.items() if key not in over]

    def scores(self) -> list[Score]:
        """Returns the scores in the order of their conclusions."""
        return [Score(**line["score"]) for line in self._read_lines() if line.get("score") is not None]

    def _add(self, line: dict[str, Any]) -> None:
        text = json.dumps(line) + "\n"
        with self._path.open("a+b") as file:
            size = file.seek(0, os.SEEK_END)
            if size > 0:
                file.seek(size - 1)
                # An unfinished line of a killed process must not be continued by this one.
                text = text if file.read(1) == b"\n" else "\n" + text
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())

    def _read_lines(self) -> Iterator[dict[str, Any]]:
        if not self._path.exists():
            return
        for text in self._path.read_text(encoding="utf-8").splitlines():
            try:
                line = json.loads(text)
            except ValueError:
                continue
            if isinstance(line, dict):
                yield line


@contextmanager
def alone(directory: Path) -> Iterator[None]:
    """Locks the directory. @raises InvalidArgument while another process, or another evaluator of this one, writes in it."""
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise InvalidArgument(f"directory: {directory} is in use by another evaluator; give each run a directory of its own") from error
        yield

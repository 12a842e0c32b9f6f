"""One copy of each checkpoint for all sandboxes of a node.

    checkpoints/<hex>/…     files of a checkpoint, as sandboxes see them
    records/<hex>.json      the files of a checkpoint; its modification time is that of the last use
    holds/<hex>.<holder>    a Muster uses the checkpoint until the time in this file
    incoming/<hex>/…        files that are being fetched
    locks/<hex>, lock       locked while the checkpoint is fetched; locked while anything else changes

The files in `checkpoints` are complete and verified, also after a crash. Sandboxes see `checkpoints` alone, and cannot list it: a program
finds the files only if it knows their digest.
"""

import json
import os
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from muster_puller.directory import FetchedFiles, fetch_files
from muster_puller.failure import PullError, translate_disk_errors
from muster_puller.hold_order import HoldOrder
from muster_puller.lock import hold_lock, is_lock_free
from muster_puller.order import WantedFile
from muster_puller.patience import Patience

# The number of recently used checkpoints whose files serve as bases: a run's next checkpoint is likely a delta of one of them.
_BASE_CHECKPOINTS = 4
# The longest time in seconds that a change of the directory waits for another change. Changes are renames and removals, which are short.
_CHANGE_SECONDS = 600.0


@dataclass(frozen=True)
class _KeptFile:
    path: str
    size: int
    sha256: str


class NodeCache:
    """A directory of a node, bounded by size. Any number of processes may share it."""

    def __init__(self, root: Path, most_bytes: int) -> None:
        """Opens the cache. @raises PullError `disk`"""
        self._root = root
        self._most_bytes = most_bytes
        with translate_disk_errors(root):
            root.chmod(0o711)
            for name, mode in (("checkpoints", 0o711), ("records", 0o700), ("holds", 0o700), ("incoming", 0o700), ("locks", 0o700)):
                (root / name).mkdir(exist_ok=True)
                (root / name).chmod(mode)

    def hold(self, order: HoldOrder) -> FetchedFiles:
        """Fetches the checkpoint if it is missing, and keeps it for its holder. Simultaneous orders for a checkpoint fetch it once.

        @raises PullError; then no file of the checkpoint is here.
        """
        patience = Patience(order.seconds)
        self._release(order)
        with hold_lock(self._root / "locks" / order.checkpoint, patience):
            if self._keep(order):
                return FetchedFiles(received=0, deltas=0)
            try:
                return self._fill(order, patience)
            except BaseException:
                self._hold_file(order).unlink(missing_ok=True)
                raise

    def _keep(self, order: HoldOrder) -> bool:
        """Notes the holder. @returns whether the checkpoint is here. One lock covers both, so the checkpoint is not removed in between."""
        with self._changing():
            self._hold_file(order).write_text(str(order.until))
            if not (self._get_directory(order.checkpoint).is_dir() and self._is_recorded_as(order)):
                return False
            os.utime(self._record(order.checkpoint))
            return True

    def _is_recorded_as(self, order: HoldOrder) -> bool:
        wanted = {str(file.path): file.size for file in order.files}
        directory = self._get_directory(order.checkpoint)
        recorded = {file.path: file.size for file in self._read_files(order.checkpoint)}
        return recorded == wanted and all((directory / path).stat().st_size == size for path, size in wanted.items())

    def _fill(self, order: HoldOrder, patience: Patience) -> FetchedFiles:
        growing = self._root / "incoming" / order.checkpoint
        try:
            with self._changing():
                self._remove(order.checkpoint)
                shutil.rmtree(growing, ignore_errors=True)
                self._make_room(order)
                growing.with_suffix(".bytes").write_text(str(_sum_sizes(order.files)))
            fetched = fetch_files(order.files, growing, patience, self._find_bases(order.files))
            with translate_disk_errors(growing):
                for path in (*growing.rglob("*"), growing):
                    _sync(path)
            with self._changing():
                self._put_in_place(order, growing)
        finally:
            shutil.rmtree(growing, ignore_errors=True)
            growing.with_suffix(".bytes").unlink(missing_ok=True)
        return fetched

    def _put_in_place(self, order: HoldOrder, growing: Path) -> None:
        record = [{"path": str(file.path), "size": file.size, "sha256": file.sha256} for file in order.files]
        self._record(order.checkpoint).write_text(json.dumps(record))
        growing.rename(self._get_directory(order.checkpoint))
        _sync(self._root / "checkpoints")

    def _make_room(self, order: HoldOrder) -> None:
        """Removes the least recently used checkpoints that have no holder until the order fits. @raises PullError `cache-full`"""
        sizes = {path.stem: sum(file.size for file in self._read_files(path.stem)) for path in (self._root / "records").iterdir()}
        needed = _sum_sizes(order.files) + sum(sizes.values()) + self._sum_expected() - self._most_bytes
        held = self._list_held()
        for checkpoint in sorted(sizes, key=lambda hex: self._record(hex).stat().st_mtime):
            if needed <= 0:
                break
            if checkpoint in held:
                continue
            self._remove(checkpoint)
            needed -= sizes[checkpoint]
        if needed > 0:
            problem = f"{_sum_sizes(order.files)} bytes do not fit beside what is in use on this node, of {self._most_bytes}"
            raise PullError("cache-full", f"{problem}; give the cache more (MUSTER_NODE_CACHE_BYTES)")

    def _sum_expected(self) -> int:
        """Returns the bytes that other processes are fetching. Removes what dead processes have left."""
        expected = 0
        for path in (self._root / "incoming").glob("*.bytes"):
            if is_lock_free(self._root / "locks" / path.stem):
                shutil.rmtree(path.with_suffix(""), ignore_errors=True)
                path.unlink(missing_ok=True)
            else:
                expected += int(path.read_text() or 0)
        return expected

    def _list_held(self) -> set[str]:
        """Returns the checkpoints that have a holder. Removes expired holds."""
        held = set()
        for path in (self._root / "holds").iterdir():
            if float(path.read_text() or 0) < time.time():
                path.unlink(missing_ok=True)
            else:
                held.add(path.name.split(".")[0])
        return held

    def _release(self, order: HoldOrder) -> None:
        with self._changing():
            for checkpoint in order.releases:
                (self._root / "holds" / f"{checkpoint}.{order.holder}").unlink(missing_ok=True)

    def _remove(self, checkpoint: str) -> None:
        """Removes a checkpoint in one step. Files that are open stay readable."""
        removed = self._root / "incoming" / f"removed-{uuid.uuid4()}"
        self._record(checkpoint).unlink(missing_ok=True)
        if self._get_directory(checkpoint).is_dir():
            self._get_directory(checkpoint).rename(removed)
            shutil.rmtree(removed, ignore_errors=True)

    def _find_bases(self, files: tuple[WantedFile, ...]) -> dict[str, Path]:
        """Returns files of the same sizes from recently used checkpoints, one for each digest."""
        sizes = {file.size for file in files}
        with self._changing():
            records = sorted((self._root / "records").iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
            return {
                file.sha256: self._get_directory(path.stem) / file.path
                for path in records[:_BASE_CHECKPOINTS]
                for file in self._read_files(path.stem)
                if file.size in sizes
            }

    def _read_files(self, checkpoint: str) -> list[_KeptFile]:
        """Reads the record of a checkpoint. Returns an empty list when it is unreadable; the checkpoint is then fetched again."""
        try:
            return [_KeptFile(**file) for file in json.loads(self._record(checkpoint).read_text())]
        except (OSError, ValueError, TypeError):
            return []

    @contextmanager
    def _changing(self) -> Iterator[None]:
        with hold_lock(self._root / "lock", Patience(_CHANGE_SECONDS)), translate_disk_errors(self._root):
            yield

    def _get_directory(self, checkpoint: str) -> Path:
        return self._root / "checkpoints" / checkpoint

    def _record(self, checkpoint: str) -> Path:
        return self._root / "records" / f"{checkpoint}.json"

    def _hold_file(self, order: HoldOrder) -> Path:
        return self._root / "holds" / f"{order.checkpoint}.{order.holder}"


def _sum_sizes(files: tuple[WantedFile, ...]) -> int:
    return sum(file.size for file in files)


def _sync(path: Path) -> None:
    """Flushes a file or directory to the disk. Without it, a power cut could lose the content of a file that already has its name."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""Fetches files into a directory that appears complete or not at all."""

import shutil
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from muster_puller.failure import PullError, translate_disk_errors
from muster_puller.order import PullOrder, WantedFile
from muster_puller.patience import Patience
from muster_puller.transfer import Fetched, Transfer


@dataclass(frozen=True)
class FetchedFiles:
    """The cost of an order: bytes received, and the numbers of files that came as deltas and from buckets."""

    received: int
    deltas: int
    from_buckets: int = 0


def pull(order: PullOrder) -> FetchedFiles:
    """Fetches the ordered files, unless they are present. @raises PullError; then none of them is present."""
    if order.into.is_dir():
        return FetchedFiles(received=0, deltas=0)
    growing = order.into.parent / f".incomplete-{uuid.uuid4()}"
    try:
        fetched = fetch_files(order.files, growing, Patience(order.seconds), order.bases)
        place(growing, order.into)
    finally:
        shutil.rmtree(growing, ignore_errors=True)
    return fetched


def fetch_files(files: Sequence[WantedFile], growing: Path, patience: Patience, bases: Mapping[str, Path]) -> FetchedFiles:
    """Fetches files into a directory. @raises PullError naming the file; the directory then keeps what has arrived."""
    with translate_disk_errors(growing):
        growing.mkdir(parents=True)
    fetched = [_fetch(file, growing, patience, bases) for file in files]
    return FetchedFiles(
        received=sum(each.received for each in fetched),
        deltas=sum(each.came == "delta" for each in fetched),
        from_buckets=sum(each.came == "bucket" for each in fetched),
    )


def place(growing: Path, into: Path) -> None:
    """Renames a directory to its final name. A directory of that name has the same content, and stays. @raises PullError `disk`"""
    with translate_disk_errors(into):
        try:
            growing.rename(into)
        except OSError:
            if not into.is_dir():
                raise


def _fetch(file: WantedFile, growing: Path, patience: Patience, bases: Mapping[str, Path]) -> Fetched:
    try:
        return Transfer(file, growing / file.path, patience, bases).run()
    except PullError as error:
        raise PullError(error.code, f"{file.path} (sha256:{file.sha256}): {error}") from error

"""Fetches one file from a server."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from muster_puller.answer import Answer, Broken, request_answer
from muster_puller.delta_encoded_file import DeltaOffer
from muster_puller.failure import PullError
from muster_puller.growing_file import GrowingFile
from muster_puller.order import WantedFile
from muster_puller.patience import Patience

# The number of failures in a row, without a byte received between them, after which the transfer is given up.
_MOST_FAILURES = 8
_PIECE_BYTES = 256 * 1024
# When the bucket refuses for one of these reasons, Muster is asked, and vice versa.
_GIVEN_ELSEWHERE = ("refused", "size", "url")


@dataclass(frozen=True)
class Fetched:
    """How a file was fetched, and at what cost."""

    # Bytes of response bodies received over the network.
    received: int
    # How the file came: `whole` from Muster, as a `delta` of a local file, or whole from the checkpoint's `bucket`.
    came: Literal["whole", "delta", "bucket"]


class Transfer:
    """Fetches a file, and resumes by range after a broken connection. A file with the wrong digest is fetched once more, whole.

    It first tries a delta, then the bucket, and then Muster, which always has the file.
    """

    def __init__(self, wanted: WantedFile, target: Path, patience: Patience, bases: Mapping[str, Path]) -> None:
        self._wanted = wanted
        self._target = target
        self._patience = patience
        self._offer = DeltaOffer.of(bases, wanted)
        self._bucket = wanted.bucket_url
        self._received = 0
        self._buffer = memoryview(bytearray(_PIECE_BYTES))

    def run(self) -> Fetched:
        """Fetches the file. @raises PullError; a part of the file may then be left."""
        try:
            return self._fetch_once()
        except PullError as error:
            if error.code != "digest":
                raise
        self._offer = self._bucket = None
        return self._fetch_once()

    def _fetch_once(self) -> Fetched:
        with GrowingFile(self._target, self._wanted) as file:
            is_delta = self._fill(file)
            file.finish()
        return Fetched(self._received, "delta" if is_delta else "bucket" if self._bucket else "whole")

    def _fill(self, file: GrowingFile) -> bool:
        failures = 0
        is_delta = False
        while not file.is_whole:
            before = file.count
            asked_bucket = self._asks_bucket
            try:
                is_delta = self._ask(file)
            except PullError as error:
                if self._bucket is None or error.code not in _GIVEN_ELSEWHERE:
                    raise
                if asked_bucket:
                    self._bucket = None
                else:
                    # Muster has no delta for these bases.
                    self._offer = None
            except Broken as broken:
                if asked_bucket and file.count == before:
                    self._bucket = None
                    continue
                # A server that asks for a pause has not failed.
                failures = 1 if file.count > before or broken.asked_seconds else failures + 1
                # A broken delta is not resumed, because it is small or saves little.
                self._offer = None
                self._pause(failures, broken)
        return is_delta

    @property
    def _asks_bucket(self) -> bool:
        return self._bucket is not None and self._offer is None

    def _pause(self, failures: int, broken: Broken) -> None:
        if failures >= _MOST_FAILURES or self._patience.is_over:
            raise PullError("unreachable", f"given up after {failures} failures in a row: {broken}") from broken
        self._patience.pause(failures, broken.asked_seconds)

    def _ask(self, file: GrowingFile) -> bool:
        """Sends one request. @returns whether the file came as a delta. @raises Broken"""
        url = self._bucket if self._asks_bucket and self._bucket else self._wanted.url
        with request_answer(url, self._build_headers(file.count), self._patience.left) as answer:
            if answer.status == 226 and self._offer:
                self._received += self._offer.take(answer, file, self._buffer)
                return True
            self._begin(answer, file)
            for piece in answer.pieces(self._buffer):
                self._received += len(piece)
                file.write(piece)
                if self._patience.is_over:
                    raise PullError("late", f"{file.count} of {self._wanted.size} bytes had arrived at its time limit")
        if not file.is_whole:
            raise Broken(f"the connection ended after {file.count} of {self._wanted.size} bytes")
        return False

    def _build_headers(self, offset: int) -> dict[str, str]:
        if offset > 0:
            # The file may have changed since, or another server may answer. The digest of the whole file shows either.
            return {"Range": f"bytes={offset}-"}
        return self._offer.headers if self._offer else {}

    def _begin(self, answer: Answer, file: GrowingFile) -> None:
        size = self._wanted.size
        if answer.status == 206:
            if answer.range != (file.count, size):
                said = answer.header("Content-Range")
                raise PullError("size", f"the server answers with {said!r}, expected bytes from {file.count} on, of {size}")
            return
        if answer.status != 200:
            raise PullError("refused", f"the server answered {answer.status}, which was not asked for")
        if answer.length not in (None, size):
            raise PullError("size", f"the server has {answer.length} bytes, expected {size}")
        if file.count > 0:
            file.start_over()

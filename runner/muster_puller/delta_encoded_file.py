"""A file that arrives as its difference from a present one (RFC 3229, with docs/delta-format.md as the instance manipulation)."""

from collections.abc import Mapping
from pathlib import Path

from muster_puller.answer import Answer, Broken
from muster_puller.delta import DeltaError, DeltaReader
from muster_puller.failure import PullError, translate_disk_errors
from muster_puller.growing_file import GrowingFile
from muster_puller.order import WantedFile
from muster_puller.zstd import can_unpack

_MANIPULATION = "muster-delta"
# Below this size a delta saves nothing.
_WORTH_ASKING_BYTES = 2**20
# The number of bases that a request names to the server, the likeliest first.
_MOST_BASES = 8


class DeltaOffer:
    """Offers the server local files as bases, and reads the delta that it answers with."""

    def __init__(self, bases: Mapping[str, Path], is_only: bool) -> None:
        """@param is_only: whether the server should send a delta or nothing, because the whole file can be fetched elsewhere."""
        self._bases = bases
        self._manipulations = f"{_MANIPULATION}, identity;q=0" if is_only else _MANIPULATION

    @classmethod
    def of(cls, bases: Mapping[str, Path], wanted: WantedFile) -> "DeltaOffer | None":
        """Makes an offer; None when no local file has the same size, or this Python has no decoder."""
        if not bases or wanted.size < _WORTH_ASKING_BYTES or not can_unpack():
            return None
        alike = [(sha256, path) for sha256, path in bases.items() if _measure(path) == wanted.size]
        # Among files of the same size, those with the same name come first, such as shards of a model. The others stay in the given order.
        alike.sort(key=lambda base: base[1].name != wanted.path.name)
        return cls(dict(alike[:_MOST_BASES]), wanted.bucket_url is not None) if alike else None

    @property
    def headers(self) -> dict[str, str]:
        return {"A-IM": self._manipulations, "If-None-Match": ", ".join(f'"{sha256}"' for sha256 in self._bases)}

    def take(self, answer: Answer, file: GrowingFile, buffer: memoryview) -> int:
        """Writes the decoded file. @returns the bytes received. @raises Broken when the whole file must be requested; PullError
        `disk-full`, `disk`
        """
        base = self._bases.get((answer.header("Delta-Base") or "").strip('"'))
        if base is None or answer.header("IM") != _MANIPULATION:
            raise Broken("the server encoded the file against a base that is missing here")
        delta = file.path.with_name(f"{file.path.name}.delta")
        try:
            received = _save(answer, delta, buffer)
            _apply(delta, base, file)
        except DeltaError as error:
            file.start_over()
            raise Broken(f"the received bytes are not a delta of it: {error}") from error
        finally:
            delta.unlink(missing_ok=True)
        return received


def _measure(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


def _save(answer: Answer, path: Path, buffer: memoryview) -> int:
    received = 0
    with translate_disk_errors(path), path.open("wb") as output:
        for piece in answer.pieces(buffer):
            output.write(piece)
            received += len(piece)
    return received


def _apply(delta: Path, base: Path, file: GrowingFile) -> None:
    try:
        with delta.open("rb") as encoded, base.open("rb") as before:
            for block in DeltaReader(encoded, before).blocks():
                file.write(block)
    except OSError as error:
        # The base may have been removed while it was read.
        raise DeltaError(str(error)) from error
    except PullError as error:
        if error.code == "size":
            raise DeltaError(str(error)) from error
        raise
    if not file.is_whole:
        raise DeltaError(f"it gives {file.count} bytes")

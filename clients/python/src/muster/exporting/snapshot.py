"""A policy at one moment: its weights as data, and the actions of the trainer's own policy on some observations."""

from dataclasses import dataclass
from pathlib import Path

from muster.exporting.network import Network
from muster.exporting.parity import Reference, assert_parity
from muster.exporting.portable_file import choose_suffix, encode_portable_file, write_whole


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A copy without references to the model. Another thread may write it while the training continues."""

    network: Network
    reference: Reference

    @property
    def suffix(self) -> str:
        return choose_suffix(self.network)

    def write(self, path: Path) -> None:
        """Writes the portable file, and keeps it only if it acts as the trainer's policy does.

        Raises ParityError or ExportError, and leaves no file then.
        """
        write_whole(path, encode_portable_file(self.network, path.suffix))
        try:
            assert_parity(path, self.reference)
        except BaseException:
            path.unlink(missing_ok=True)
            raise

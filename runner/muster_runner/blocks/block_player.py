"""Plays a block of episodes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from muster_runner.episode import Outcome
from muster_runner.frames import Episode
from muster_runner.prints import EpisodePrints


@dataclass(frozen=True)
class PlayedBlock:
    """`outcomes` and `logs` in the order of the block's episodes; seconds that were spent in the policy, for all of them."""

    outcomes: Sequence[Outcome]
    logs: Sequence[str]
    forward_seconds: float


class BlockPlayer(Protocol):
    @property
    def task_count(self) -> int:
        """Number of tasks."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Remarks for the authors of suite and checkpoint."""

    def play(self, episodes: Sequence[Episode], prints: EpisodePrints, /) -> PlayedBlock:
        """All outcomes of the block are a function of the load and of `episodes`. An exception on the way is an outcome, too."""

    def close(self) -> None:
        """Throws all environments away."""

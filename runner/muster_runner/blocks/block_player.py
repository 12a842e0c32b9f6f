"""Plays a block of episodes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from muster_runner.episode import Outcome
from muster_runner.frames import Episode
from muster_runner.prints import EpisodePrints


@dataclass(frozen=True)
class PlayedBlock:
    """The result of a block: `outcomes` and `logs` in the order of its episodes, and the seconds that all of them spent in the policy."""

    outcomes: Sequence[Outcome]
    logs: Sequence[str]
    forward_seconds: float


class BlockPlayer(Protocol):
    @property
    def task_count(self) -> int:
        """The number of tasks."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings for the authors of suite and checkpoint."""

    def play(self, episodes: Sequence[Episode], prints: EpisodePrints, /) -> PlayedBlock:
        """Plays a block. All outcomes are a function of the load and of `episodes`. An exception also becomes an outcome."""

    def close(self) -> None:
        """Closes all environments."""

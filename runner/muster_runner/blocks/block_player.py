"""What plays a block of episodes."""

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
        """How many tasks there are to play."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What those who wrote suite and checkpoint should know."""

    def play(self, episodes: Sequence[Episode], prints: EpisodePrints, /) -> PlayedBlock:
        """All outcomes of the block are a function of the load and of `episodes`. What is raised on the way is an outcome, too."""

    def close(self) -> None:
        """Throws all environments away."""

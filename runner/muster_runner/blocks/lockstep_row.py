"""A row of a block in lockstep: it plays one episode after the other."""

from dataclasses import dataclass, field
from typing import Any

from muster_runner.environments import Environment
from muster_runner.frames import Episode
from muster_runner.policies.rows_policy import RowsPolicy
from muster_runner.prints import EpisodePrints


@dataclass(slots=True, eq=False)
class Row:
    number: int
    prints: EpisodePrints = field(default_factory=EpisodePrints)

    # Of its present episode.
    episode: Episode | None = None
    """Position of the episode in the block."""
    place: int = 0
    environment: Environment | None = None
    """The environment's own method: looking it up at each step would cost."""
    step: Any = None
    policy: RowsPolicy | None = None
    """Results of reset and the last step."""
    observation: Any = None
    info: Any = None
    """Whether its first observation held NaN."""
    saw_nan: bool = False
    """Sum of the rewards."""
    total: float = 0.0
    """Number of steps of all rows when the episode began."""
    first_step: int = 0
    """Time that its environment took."""
    seconds: float = 0.0
    """Time charged to each row for the policy when the episode began."""
    shared_before: float = 0.0

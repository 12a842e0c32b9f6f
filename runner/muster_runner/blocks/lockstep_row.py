"""A row of a block in lockstep, which plays one episode after the other."""

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

    # The following attributes belong to the episode that it plays.
    episode: Episode | None = None
    # Position of the episode in the block.
    place: int = 0
    environment: Environment | None = None
    # The environment's `step`, so that it need not be looked up at each step.
    step: Any = None
    policy: RowsPolicy | None = None
    # The results of reset or of the last step.
    observation: Any = None
    info: Any = None
    # Whether the first observation contained NaN.
    saw_nan: bool = False
    # Sum of the rewards.
    total: float = 0.0
    # Number of steps of the block before the episode began.
    first_step: int = 0
    # Seconds that the environment has taken.
    seconds: float = 0.0
    # Seconds that had been charged to each row for the policy when the episode began.
    shared_before: float = 0.0

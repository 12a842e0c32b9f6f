"""The episodes of an evaluation."""

from dataclasses import dataclass

from muster_client.errors import ServerError
from muster_client.fields import Fields


@dataclass(frozen=True, slots=True)
class Completed:
    """An episode that was played to its end."""

    reward: float
    """The return: the sum of the episode's rewards."""
    length: int
    """The number of steps."""
    metrics: dict[str, float]


@dataclass(frozen=True, slots=True)
class Failed:
    """A failed episode, which counts with the score that the suite gives to failures."""

    cause: str
    """`timeout`, `policy-crash`, …"""
    detail: str


@dataclass(frozen=True, slots=True)
class Lost:
    """An episode that the infrastructure lost. It is never scored."""

    detail: str


Outcome = Completed | Failed | Lost


@dataclass(frozen=True, slots=True)
class Episode:
    index: int
    task: str
    environment_seed: int
    policy_seed: int
    checkpoint: str
    """The checkpoint's digest."""
    outcome: Outcome
    seconds: float
    log: str | None
    """The output of environment and policy, shortened."""
    withheld: bool
    """Whether the text was left out because the caller may not use all of the checkpoints."""


def read_episode(fields: Fields) -> Episode:
    return Episode(
        index=fields.whole("index"),
        task=fields.text("task"),
        environment_seed=fields.whole("environmentSeed"),
        policy_seed=fields.whole("policySeed"),
        checkpoint=fields.text("checkpoint"),
        outcome=_read_outcome(fields.object("outcome")),
        seconds=fields.number("seconds"),
        log=fields.optional("log", fields.text),
        withheld=fields.optional("withheld", fields.flag) or False,
    )


def _read_outcome(fields: Fields) -> Outcome:
    match fields.text("kind"):
        case "completed":
            metrics = fields.object("metrics")
            return Completed(fields.number("return"), fields.whole("length"), {name: metrics.number(name) for name in metrics.raw})
        case "failed":
            return Failed(fields.text("cause"), fields.text("detail"))
        case "lost":
            return Lost(fields.text("detail"))
        case other:
            raise ServerError(f"the server sent an episode that is {other}, which this client does not know; update muster-client")

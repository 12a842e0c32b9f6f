"""How a vector environment resets a row whose episode has ended."""

from enum import Enum

import gymnasium.vector

from muster_runner.environments import VectorEnvironment


class Autoreset(Enum):
    """The modes of `gymnasium.vector.AutoresetMode`, which Gymnasium has from 1.1 on."""

    NEXT_STEP = "NextStep"
    SAME_STEP = "SameStep"
    DISABLED = "Disabled"


# Gymnasium 1.0 has no modes: a row is reset in the next step.
UNSAID = None if hasattr(gymnasium.vector, "AutoresetMode") else Autoreset.NEXT_STEP


def detect_autoreset(environment: VectorEnvironment) -> Autoreset:
    """@raises ValueError when the environment does not say."""
    said = environment.metadata.get("autoreset_mode", UNSAID)
    return Autoreset(said.value if isinstance(said, Enum) else said)


def declare(mode: Autoreset) -> Enum:
    """The mode as this Gymnasium's vector environments and their wrappers write it."""
    declared: Enum = getattr(gymnasium.vector, "AutoresetMode", Autoreset)[mode.name]
    return declared

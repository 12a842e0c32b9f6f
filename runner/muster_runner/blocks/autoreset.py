"""The modes in which vector environments reset a row whose episode has ended."""

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
    """Reads the mode from the environment's metadata. @raises ValueError when there is none."""
    said = environment.metadata.get("autoreset_mode", UNSAID)
    return Autoreset(said.value if isinstance(said, Enum) else said)


def declare(mode: Autoreset) -> Enum:
    """Returns the mode as the vector environments and wrappers of this Gymnasium write it."""
    declared: Enum = getattr(gymnasium.vector, "AutoresetMode", Autoreset)[mode.name]
    return declared

"""Why something cannot be loaded."""

from typing import Literal


class Refusal(Exception):
    """The message is for the person who wrote the checkpoint or the suite: what is wrong, what was expected, the remedy."""

    part: Literal["policy", "environment"]


class PolicyRefusal(Refusal):
    part = "policy"


class EnvironmentRefusal(Refusal):
    part = "environment"

"""Reasons why a checkpoint or a suite cannot be loaded."""

from typing import Literal


class Refusal(Exception):
    """A refusal to load. The message is for the author of the checkpoint or the suite: what is wrong, what was expected, the remedy."""

    part: Literal["policy", "environment"]


class PolicyRefusal(Refusal):
    part = "policy"


class EnvironmentRefusal(Refusal):
    part = "environment"

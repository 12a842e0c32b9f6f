"""Reasons why a policy cannot be exported."""

from muster_client.errors import MusterError


class ExportError(MusterError, ValueError):
    """The policy cannot be exported as it is. Nothing was played, and no file was written."""


class MissingNormalisation(ExportError):
    """The policy was trained on normalised observations, and their statistics were not given."""


class ParityError(ExportError):
    """The exported policy does not act as the trainer's own policy does."""

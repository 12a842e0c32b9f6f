"""Reasons why a policy cannot be exported."""

from muster_client.errors import MusterError


class ExportError(MusterError, ValueError):
    """A policy that cannot be exported as it is. Nothing was played, and no file was written."""


class MissingNormalisation(ExportError):
    """A policy that was trained on normalised observations whose statistics were not given."""


class ParityError(ExportError):
    """An exported policy that does not act as the trainer's own policy does."""

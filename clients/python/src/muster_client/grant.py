"""Grants, by which a principal lets another use a checkpoint."""

from dataclasses import dataclass
from datetime import datetime

from muster_client.fields import Fields


@dataclass(frozen=True, slots=True)
class Grant:
    """The right of a principal to use a checkpoint that another principal has brought."""

    sha256: str
    principal: str
    """The principal that may use it."""
    granted_by: str
    """The principal that allowed it."""
    at: datetime


def read_grant(fields: Fields) -> Grant:
    return Grant(fields.text("sha256"), fields.text("principal"), fields.text("grantedBy"), fields.moment("at"))

"""A grant: which principal lets which other use a checkpoint."""

from dataclasses import dataclass
from datetime import datetime

from muster_client.fields import Fields


@dataclass(frozen=True, slots=True)
class Grant:
    """The right of a principal to use a checkpoint that another has brought."""

    sha256: str
    principal: str
    """Who may use it."""
    granted_by: str
    """Who allowed it."""
    at: datetime


def read_grant(fields: Fields) -> Grant:
    return Grant(fields.text("sha256"), fields.text("principal"), fields.text("grantedBy"), fields.moment("at"))

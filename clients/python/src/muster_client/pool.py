"""Pools of sandboxes."""

from dataclasses import dataclass, field
from typing import Any

from muster_client.fields import Fields


@dataclass(frozen=True, slots=True)
class Pool:
    name: str
    """The name of the template from which its sandboxes are made."""
    min: int
    max: int
    warm: int
    """The number of idle sandboxes that are kept ready beyond those in use."""
    draining: bool
    phase: str
    """`unused`, `starting`, `open`, `draining` or `closing`."""
    idle: int
    leased: int
    waiting: int
    """The number of leases that wait for a sandbox."""
    raw: dict[str, Any] = field(repr=False)


def read_pool(fields: Fields) -> Pool:
    sandboxes = fields.object("sandboxes")
    return Pool(
        name=fields.text("name"),
        min=fields.whole("min"),
        max=fields.whole("max"),
        warm=fields.whole("warm"),
        draining=fields.flag("draining"),
        phase=fields.text("phase"),
        idle=sandboxes.whole("idle"),
        leased=sandboxes.whole("leased"),
        waiting=fields.whole("waiting"),
        raw=fields.raw,
    )

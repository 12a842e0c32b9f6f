"""Muster's orders to a node's cache, read from JSON."""

import re
from dataclasses import dataclass

from muster_puller.order import WantedFile, parse_files, parse_sha256
from muster_runner.json_fields import FieldError, Object, as_count, as_list, as_positive_number, as_text, only, required

_HOLDER = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


@dataclass(frozen=True)
class HoldOrder:
    """An order to fetch a checkpoint, and to keep it for a holder."""

    # The SHA-256 that names it.
    checkpoint: str
    files: tuple[WantedFile, ...]
    holder: str
    # Seconds since 1970 after which the holder counts as gone.
    until: int
    seconds: float
    # Checkpoints that the holder no longer uses.
    releases: tuple[str, ...]


def parse_hold(document: Object) -> HoldOrder:
    """Parses an order. @raises FieldError"""
    only(document, ("kind", "checkpoint", "files", "holder", "until", "seconds", "releases"), "order")
    releases = as_list(document.get("releases", []), "order.releases")
    return HoldOrder(
        checkpoint=parse_sha256(required(document, "checkpoint", "order"), "order.checkpoint"),
        files=parse_files(required(document, "files", "order")),
        holder=_parse_holder(as_text(required(document, "holder", "order"), "order.holder")),
        until=as_count(required(document, "until", "order"), "order.until"),
        seconds=as_positive_number(required(document, "seconds", "order"), "order.seconds"),
        releases=tuple(parse_sha256(each, f"order.releases[{i}]") for i, each in enumerate(releases)),
    )


def _parse_holder(text: str) -> str:
    if not _HOLDER.fullmatch(text):
        raise FieldError(f"order.holder is {text[:80]!r}, expected lower-case letters, digits and '-'")
    return text

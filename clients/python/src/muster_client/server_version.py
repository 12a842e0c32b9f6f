"""Warns of a server whose version is not the one that this client was written for."""

import logging

from muster_client.effects import Response
from muster_client.settings import VERSION, Settings

logger = logging.getLogger("muster_client")

HEADER = "muster-version"


def warn_of_other_version(settings: Settings, response: Response) -> None:
    """Warns once of each version whose first two numbers are not the client's. The two may still work together."""
    found = response.headers.get(HEADER)
    if found is None or found in settings.versions or _parse_series(found) == _parse_series(VERSION):
        return
    settings.versions.add(found)
    logger.warning(
        "the server at %s is Muster %s, and this client is %s; an answer may be one that this client does not know. "
        "Install the server's version: pip install muster-eval==%s",
        settings.url,
        found,
        VERSION,
        found,
    )


def _parse_series(version: str) -> list[str]:
    return version.split(".")[:2]

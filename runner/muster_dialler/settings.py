"""Reads a container's environment, and removes from it what the program must not see."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

PREFIX = "MUSTER_DIAL_"
_URL = f"{PREFIX}URL"
_TOKEN = f"{PREFIX}TOKEN"
_AUTHORITY = f"{PREFIX}AUTHORITY"


class SettingsError(Exception):
    """The container was not set up by Muster, or by another version of it."""


@dataclass(frozen=True)
class Settings:
    """The dialler's settings: the URL of this container at Muster, its token, which can be used once, and the trusted certificates."""

    url: str
    token: str
    # Certificates as PEM text; None for those that the image trusts.
    authority: str | None


def read_settings(environment: Mapping[str, str]) -> Settings:
    """Reads the settings. @raises SettingsError when a variable is missing."""
    missing = [name for name in (_URL, _TOKEN) if not environment.get(name)]
    if missing:
        raise SettingsError(f"{' and '.join(missing)} not set; this program is started by Muster, in pods that dial back")
    return Settings(environment[_URL], environment[_TOKEN], environment.get(_AUTHORITY))


def build_program_environment() -> dict[str, str]:
    """Returns all environment variables except the dialler's own."""
    return {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}

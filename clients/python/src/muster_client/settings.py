"""The settings of a client: how it reaches its server, and how long it tries."""

import os
import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from ipaddress import ip_address
from urllib.parse import urlsplit

from muster_client.arguments import assert_is, assert_seconds
from muster_client.errors import InvalidArgument
from muster_client.sent_before import SentBefore

DEFAULT_TIMEOUT_SECONDS = 30.0
VERSION = "0.1.0"
USER_AGENT = f"muster-client/{VERSION}"


@dataclass(frozen=True, slots=True)
class Retry:
    """Waits out temporary trouble: broken connections, 429 and 503 with their Retry-After, 502 and 504.

    Only requests that can be repeated without harm are sent again: reads, uploads named by their content, cancellations, and submissions,
    which carry an idempotency key.
    """

    first_seconds: float = 0.25
    """The longest pause after the first failure. It doubles with each further failure, and each pause is random up to it."""
    longest_seconds: float = 15.0
    patience_seconds: float = 120.0
    """Seconds without a success after which the client gives up. It also gives up when the server asks for a longer pause than is left of
    them.
    """

    def __post_init__(self) -> None:
        for limit in fields(self):
            assert_seconds(f"retry.{limit.name}", getattr(self, limit.name))


@dataclass(frozen=True, slots=True)
class Settings:
    url: str
    """The server's address, without a slash at the end."""
    token: str | None = field(repr=False)
    timeout: float
    retry: Retry
    now: Callable[[], float]
    """Returns the seconds of a monotonic clock."""
    draw: Callable[[], float]
    """Draws a number uniformly from [0, 1)."""
    sent: SentBefore = field(default_factory=SentBefore, repr=False, compare=False)
    versions: set[str] = field(default_factory=set, repr=False, compare=False)
    """The differing server versions of which the client has warned."""


def resolve_settings(url: str | None, token: str | None, timeout: float, retry: Retry | None, plain_http: bool) -> Settings:
    """Checks the arguments of both clients' constructors, and fills in defaults. Raises InvalidArgument."""
    address = _resolve_url(url)
    assert_seconds("timeout", timeout)
    if timeout <= 0:
        raise InvalidArgument(f"timeout: expected seconds, more than 0, got {timeout!r}")
    if retry is not None:
        assert_is("retry", retry, Retry, "a Retry, such as Retry(patience_seconds=600)")
    found = _resolve_token(token, address, plain_http)
    return Settings(address, found, float(timeout), retry or Retry(), now=time.monotonic, draw=random.random)


def _resolve_url(url: str | None) -> str:
    """Returns the given address, or MUSTER_URL."""
    found = url or os.environ.get("MUSTER_URL")
    if not found:
        raise InvalidArgument("url: expected the address of a Muster server, such as http://127.0.0.1:7677; give it, or set MUSTER_URL")
    assert_is("url", found, str, "the address of a Muster server as text")
    parts = urlsplit(found)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username is not None:
        meant = f"; did you mean http://{found}?" if re.fullmatch(r"[\w.-]+:\d+/?", found) else ""
        name = "url" if url else "MUSTER_URL"
        got = "" if re.search("[@?#]", found) else f", got {found!r}"  # The other parts may hold secrets.
        raise InvalidArgument(f"{name}: expected http://HOST:PORT or https://HOST:PORT, without user, query or fragment{got}{meant}")
    if parts.path.rstrip("/").endswith("/v1"):
        raise InvalidArgument(f"{'url' if url else 'MUSTER_URL'}: expected the address without /v1, which the client adds, got {found!r}")
    return found.rstrip("/")


def _resolve_token(token: str | None, url: str, plain_http: bool) -> str | None:
    """Returns the given token, or MUSTER_TOKEN, or None: servers on loopback may do without."""
    found = token or os.environ.get("MUSTER_TOKEN") or None
    if found is None:
        return None
    assert_is("token", found, str, "the token as text")
    if not (found.isascii() and found.isprintable() and " " not in found):
        name = "token" if token else "MUSTER_TOKEN"
        raise InvalidArgument(f"{name}: expected only visible ASCII characters; {_explain_token(found)}")
    if not plain_http and urlsplit(url).scheme == "http" and not _is_loopback(urlsplit(url).hostname or ""):
        raise InvalidArgument("url: a token would be sent unencrypted; use https, or set plain_http=True if the network is your own")
    return found


def _explain_token(found: str) -> str:
    if "…" in found:
        return "'…' stands for the rest of a token, which 'muster token create' prints"
    return "is there a space or a line break in it?"


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

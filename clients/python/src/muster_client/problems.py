"""Turns unsuccessful answers into errors."""

import json
import re
from typing import Any

from muster_client.effects import Response
from muster_client.errors import (
    BadRequest,
    Conflict,
    FieldProblem,
    Forbidden,
    MusterError,
    NotFound,
    QuotaExceeded,
    ServerAnswer,
    ServerError,
    ServerUnavailable,
    Unauthorized,
)

ANSWERS: dict[int, type[ServerAnswer]] = {401: Unauthorized, 403: Forbidden, 404: NotFound, 409: Conflict}
PASSING = frozenset({502, 503, 504})
MOST_SHOWN_CHARACTERS = 500
DESCRIBED = re.compile(r'\bcode="([^"]*)", error_description="([^"]*)"')
"""The code and the message of an answer that has no body are in a header."""


def problem_in(response: Response) -> MusterError | None:
    """Returns the error of an answer; None for a success."""
    status = response.status
    if 200 <= status < 300:
        return None
    code, detail, errors = _read(response)
    if status in PASSING:
        return ServerUnavailable(f"{detail} ({status} {code})", retry_after=retry_after(response))
    if status == 429:
        return QuotaExceeded(status, code, detail, errors, retry_after=retry_after(response))
    if 400 <= status < 500:
        return ANSWERS.get(status, BadRequest)(status, code, detail, errors)
    return ServerError(f"{detail} ({status} {code})")


def retry_after(response: Response) -> float | None:
    """Returns the seconds of Retry-After. A date, which HTTP also allows, counts as no header, because Muster never sends one."""
    text = response.headers.get("retry-after", "")
    return float(text) if text.isascii() and text.isdigit() else None


def _read(response: Response) -> tuple[str, str, tuple[FieldProblem, ...]]:
    try:
        document: Any = json.loads(response.body)
    except ValueError:
        document = None
    if not isinstance(document, dict) or not isinstance(document.get("code"), str):
        # A proxy's answer, or an answer to HEAD, which has no body.
        described = DESCRIBED.search(response.headers.get("www-authenticate", ""))
        if described and not response.body:
            return described[1], described[2], ()
        said = response.body[: 4 * MOST_SHOWN_CHARACTERS].decode(errors="replace")[:MOST_SHOWN_CHARACTERS]
        return "http", f"the server answered {response.status}" + (f": {said}" if said else ""), ()
    listed = document.get("errors")
    errors = tuple(
        FieldProblem(str(item.get("field", "")), str(item.get("detail", "")), _read_text(item.get("expected")))
        for item in (listed if isinstance(listed, list) else [])
        if isinstance(item, dict)
    )
    return document["code"], str(document.get("detail", document.get("title", ""))), errors


def _read_text(value: Any) -> str | None:
    return value if isinstance(value, str) else None

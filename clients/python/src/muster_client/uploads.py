"""Uploads checkpoints: only the files that the server does not have, part by part, from where an upload was interrupted."""

import os
from collections.abc import Callable, Mapping
from functools import partial
from urllib.parse import urlencode

from muster_client.calls import SLOW_ANSWER_SECONDS, call
from muster_client.checkpoint import LocalCheckpoint, LocalFile, read_checkpoint, read_part
from muster_client.effects import Exchange, Pause, Request, Response, Steps, Work, perform
from muster_client.errors import BadRequest, Conflict, MusterError, NotFound, QuotaExceeded, ServerAnswer, ServerUnavailable
from muster_client.patience import Patience
from muster_client.problems import problem_in
from muster_client.sent_before import encode_difference
from muster_client.settings import Settings

PART_BYTES = 16 * 2**20
"""The size of a part in bytes. It is in memory while it is sent. Smaller parts would wait for more answers; larger ones would repeat more
after a broken connection.
"""

OFFSET = "upload-offset"
"""The header with the number of received bytes."""

ELSEWHERE = frozenset({"upload.offset", "upload.stalled", "upload.superseded"})
"""Codes of a server that has another part of the upload than the client assumes. The client asks, and continues from there."""


def upload_path(settings: Settings, path: str | os.PathLike[str], base: str | os.PathLike[str] | None = None) -> Steps[str]:
    """Uploads a file or directory. Returns its digest once the server has it.

    @param base: a checkpoint that the server may have, as the base of a delta.
    """
    local = yield from perform(Work(lambda: read_checkpoint(path)))
    if base is not None:
        settings.sent.remember((yield from perform(Work(lambda: read_checkpoint(base)))).files)
    yield from _bring(settings, local)
    settings.sent.remember(local.files)
    return local.sha256


def _bring(settings: Settings, local: LocalCheckpoint) -> Steps[None]:
    if local.manifest is None:
        yield from _bring_file(settings, local.files[0])
        return
    if (yield from _ask_received(settings, local.sha256)) is None:
        return
    for file in local.files:
        yield from _bring_file(settings, file)
    manifest = local.manifest
    size = len(manifest)
    yield from _send(settings, local.sha256, {"kind": "manifest"}, size, lambda offset: manifest[offset : offset + PART_BYTES])


def _bring_file(settings: Settings, file: LocalFile) -> Steps[None]:
    query = {"name": file.path.rpartition("/")[2]}
    if (yield from _bring_as_delta(settings, file, query)):
        return
    yield from _send(settings, file.sha256, query, file.size, lambda offset: read_part(file, offset, PART_BYTES))


def _bring_as_delta(settings: Settings, file: LocalFile, query: dict[str, str]) -> Steps[bool]:
    """Sends the file as a difference. Returns whether the server has the file then."""
    bases = yield from perform(Work(lambda: settings.sent.like(file)))
    # An upload that was begun is continued, and a file that the server has is not sent.
    if not bases or (yield from _ask_received(settings, file.sha256, query)) != 0:
        return False
    for base in bases:
        if (yield from _ask_received(settings, base.sha256)) is not None:
            continue
        delta = yield from perform(Work(partial(encode_difference, file, base)))
        if delta is not None:
            return (yield from _send_delta(settings, file, query, delta))
    return False


def _send_delta(settings: Settings, file: LocalFile, query: dict[str, str], delta: bytes) -> Steps[bool]:
    try:
        yield from _send(settings, file.sha256, {"kind": "delta", **query}, len(delta), lambda offset: delta[offset : offset + PART_BYTES])
    except (BadRequest, NotFound, Conflict):
        # The base of the delta is gone, or the server takes no deltas, but it may take the whole file.
        return False
    return True


def _send(settings: Settings, sha256: str, query: dict[str, str], size: int, read: Callable[[int], bytes]) -> Steps[None]:
    patience = Patience(settings)
    offset = yield from _ask_received(settings, sha256, query)
    while offset is not None:
        begin = offset if offset <= size else 0
        part = yield from perform(Work(partial(read, begin)))
        try:
            response = yield from perform(Exchange(_build_part_request(sha256, query, begin, part, size), SLOW_ANSWER_SECONDS))
            error = problem_in(response)
        except ServerUnavailable as unavailable:
            error = unavailable
        if error is None:
            patience.succeeded()
            offset = _next_offset(response, begin + len(part), size)
            continue
        yield from perform(Pause(patience.pause_after(_convert_error(error))))
        offset = yield from _ask_received(settings, sha256, query)
        if offset is not None and offset > begin:
            patience.succeeded()


def _ask_received(settings: Settings, sha256: str, query: Mapping[str, str] = {}) -> Steps[int | None]:
    """Returns the bytes of an upload that the server has; None when it has all of them, under a name of the same format."""
    path = f"/v1/checkpoints/{sha256}?{urlencode({'kind': 'file', **query})}"
    response = yield from call(settings, Request("HEAD", path), also=frozenset({404}))
    return _read_offset(response, 0) if response.status == 404 else None


def _build_part_request(sha256: str, query: dict[str, str], begin: int, part: bytes, size: int) -> Request:
    headers = {"content-type": "application/octet-stream"}
    if not part and size:
        headers["content-range"] = f"bytes */{size}"  # all of it had come before the connection broke
    elif len(part) < size:
        headers["content-range"] = f"bytes {begin}-{begin + len(part) - 1}/{size}"
    return Request("PUT", f"/v1/checkpoints/{sha256}?{urlencode(query)}", headers, part)


def _next_offset(response: Response, sent: int, size: int) -> int | None:
    """Returns where to continue; None at the end. Status 202 means that more must follow."""
    return _read_offset(response, sent) if response.status == 202 or sent < size else None


def _read_offset(response: Response, otherwise: int) -> int:
    text = response.headers.get(OFFSET, "")
    return int(text) if text.isascii() and text.isdigit() else otherwise


def _convert_error(error: MusterError) -> MusterError:
    """Turns a failure that may be retried into an error that Patience retries."""
    if isinstance(error, ServerAnswer) and not isinstance(error, QuotaExceeded) and error.code in ELSEWHERE:
        return ServerUnavailable(str(error))
    return error

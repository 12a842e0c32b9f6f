"""Converts requests and answers from and to httpx."""

import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import TypedDict

import httpx

from muster_client.effects import Request, Response
from muster_client.errors import MusterError, ServerError, ServerUnavailable
from muster_client.settings import USER_AGENT, Settings

LOOPBACK = ("127.0.0.1", "::1", "localhost")


class Connecting(TypedDict, total=False):
    """Options of httpx for connections."""

    verify: ssl.SSLContext
    trust_env: bool


def choose_options(url: str) -> Connecting:
    """Returns options for an address. Plain HTTP on this machine needs neither a proxy nor certificates, whose loading takes the
    interpreter 20 ms.
    """
    address = httpx.URL(url)
    if address.scheme != "http" or address.host not in LOOPBACK:
        return {}
    return {"verify": ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), "trust_env": False}


def build_headers(settings: Settings) -> dict[str, str]:
    headers = {"user-agent": USER_AGENT, "accept": "application/json"}
    return headers if settings.token is None else {**headers, "authorization": f"Bearer {settings.token}"}


def build_request_headers(request: Request) -> dict[str, str]:
    length = {} if request.body is None else {"content-length": str(len(request.body))}
    return {**request.headers, **length}


class Content:
    """A body that is released after it was sent.

    Requests and answers of httpx refer to each other, so their data stays until the garbage collector runs: for an upload, many parts.
    """

    def __init__(self, body: bytes) -> None:
        self._body = body

    def taken(self) -> bytes:
        body, self._body = self._body, b""
        return body


class BlockingContent(Content):
    def __iter__(self) -> Iterator[bytes]:
        yield self.taken()


class AwaitedContent(Content):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self.taken()


def create_answer_timeout(seconds: float, answer_seconds: float) -> httpx.Timeout:
    return httpx.Timeout(seconds, read=max(seconds, answer_seconds))


def create_stream_timeout(seconds: float, idle_seconds: float) -> httpx.Timeout:
    return httpx.Timeout(seconds, read=idle_seconds)


def read_response(response: httpx.Response, body: bytes = b"") -> Response:
    return Response(response.status_code, read_headers(response.headers), body)


def read_headers(headers: httpx.Headers) -> Mapping[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def translate_error(error: httpx.HTTPError, url: str) -> MusterError:
    """Turns an httpx error into the client's. A broken connection may work later; an answer that httpx cannot parse will not improve."""
    message = f"{url}: {type(error).__name__}: {error}".rstrip(": ")
    if isinstance(error, httpx.ConnectError) and "WRONG_VERSION_NUMBER" in message:
        return ServerError(f"{message}; the server speaks no TLS; did you mean {url.replace('https:', 'http:', 1)}?")
    if isinstance(error, httpx.ConnectError) and "CERTIFICATE_VERIFY_FAILED" in message:
        return ServerError(f"{message}; SSL_CERT_FILE names a file with certificates of your own authority")
    if isinstance(error, httpx.ConnectError):
        message += "; is a server listening there (muster serve)?"
    if isinstance(error, httpx.TransportError) and not isinstance(error, httpx.UnsupportedProtocol | httpx.LocalProtocolError):
        return ServerUnavailable(message)
    return ServerError(message)

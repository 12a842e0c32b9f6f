"""Performs effects on blocking connections."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from muster_client.arguments import assert_open
from muster_client.effects import Done, Effect, Emit, Exchange, Items, Open, Pause, Read, Response, Steps, Work, resume
from muster_client.errors import MusterError
from muster_client.settings import Settings
from muster_client.wire import (
    BlockingContent,
    build_headers,
    build_request_headers,
    choose_options,
    create_answer_timeout,
    create_stream_timeout,
    read_response,
    translate_error,
)

Result = TypeVar("Result")
Item = TypeVar("Item")


class BlockingDriver:
    """Runs calls, each in the thread of its caller. Several threads may share it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        options = choose_options(settings.url)
        self._client = httpx.Client(base_url=settings.url, headers=build_headers(settings), timeout=settings.timeout, **options)

    def close(self) -> None:
        self._client.close()

    def run(self, steps: Steps[Result]) -> Result:
        with _Connection(self._client, self._settings) as connection, closing(steps):
            step = resume(steps)
            while not isinstance(step, Done):
                step = resume(steps, *connection.attempt(step))
        result: Result = step.value
        return result

    def iterate(self, items: Items[Item]) -> Iterator[Item]:
        with _Connection(self._client, self._settings) as connection, closing(items):
            step = resume(items)
            while not isinstance(step, Done):
                if isinstance(step, Emit):
                    yield step.item
                    step = resume(items)
                else:
                    step = resume(items, *connection.attempt(step))


class _Connection:
    """The connection of one call. It has at most one open stream, and none after the call."""

    def __init__(self, client: httpx.Client, settings: Settings) -> None:
        self._client = client
        self._url = settings.url
        self._timeout = settings.timeout
        self._stream = ExitStack()
        self._chunks: Iterator[bytes] = iter(())

    def __enter__(self) -> Self:
        assert_open(closed=self._client.is_closed)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stream.close()

    def attempt(self, effect: Effect[Any]) -> tuple[Any, MusterError | None]:
        """Performs an effect. Returns its result or its error, because the call decides which error the caller gets."""
        try:
            return self._perform(effect), None
        except MusterError as error:
            return None, error

    def _perform(self, effect: Effect[Any]) -> Any:
        try:
            match effect:
                case Exchange():
                    response = self._exchange(effect)
                    return read_response(response, response.content)
                case Open():
                    return self._open(effect)
                case Read():
                    return next(self._chunks, b"")
                case Pause(seconds):
                    return time.sleep(seconds)
                case Work(work):
                    return work()
                case _:
                    raise TypeError(f"{effect!r} is no effect")
        except httpx.HTTPError as error:
            raise translate_error(error, self._url) from error

    def _exchange(self, effect: Exchange) -> httpx.Response:
        request = effect.request
        headers = build_request_headers(request)
        content = None if request.body is None else BlockingContent(request.body)
        timeout = create_answer_timeout(self._timeout, effect.answer_seconds)
        return self._client.request(request.method, request.path, headers=headers, content=content, timeout=timeout)

    def _open(self, effect: Open) -> Response:
        self._stream.close()
        method, path, headers = effect.request.method, effect.request.path, effect.request.headers
        timeout = create_stream_timeout(self._timeout, effect.idle_seconds)
        response = self._stream.enter_context(self._client.stream(method, path, headers=headers, timeout=timeout))
        if response.status_code != 200:
            return read_response(response, response.read())
        self._chunks = response.iter_bytes()
        return read_response(response)

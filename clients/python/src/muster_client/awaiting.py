"""Performs effects on asynchronous connections."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, closing
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from muster_client.arguments import assert_open
from muster_client.effects import Done, Effect, Emit, Exchange, Items, Open, Pause, Read, Response, Steps, Work, resume
from muster_client.errors import MusterError
from muster_client.settings import Settings
from muster_client.wire import (
    AwaitedContent,
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


class AwaitingDriver:
    """Runs calls, each in the task of its caller. Files are read in threads."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        options = choose_options(settings.url)
        self._client = httpx.AsyncClient(base_url=settings.url, headers=build_headers(settings), timeout=settings.timeout, **options)

    async def close(self) -> None:
        await self._client.aclose()

    async def run(self, steps: Steps[Result]) -> Result:
        async with _Connection(self._client, self._settings) as connection:
            with closing(steps):
                step = resume(steps)
                while not isinstance(step, Done):
                    step = resume(steps, *(await connection.attempt(step)))
        result: Result = step.value
        return result

    async def iterate(self, items: Items[Item]) -> AsyncIterator[Item]:
        async with _Connection(self._client, self._settings) as connection:
            with closing(items):
                step = resume(items)
                while not isinstance(step, Done):
                    if isinstance(step, Emit):
                        yield step.item
                        step = resume(items)
                    else:
                        step = resume(items, *(await connection.attempt(step)))


class _Connection:
    """The connection of one call. It has at most one open stream, and none after the call."""

    def __init__(self, client: httpx.AsyncClient, settings: Settings) -> None:
        self._client = client
        self._url = settings.url
        self._timeout = settings.timeout
        self._stream = AsyncExitStack()
        self._chunks: AsyncIterator[bytes] | None = None

    async def __aenter__(self) -> Self:
        assert_open(closed=self._client.is_closed)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._stream.aclose()

    async def attempt(self, effect: Effect[Any]) -> tuple[Any, MusterError | None]:
        """Performs an effect. Returns its result or its error, because the call decides which error the caller gets."""
        try:
            return await self._perform(effect), None
        except MusterError as error:
            return None, error

    async def _perform(self, effect: Effect[Any]) -> Any:
        try:
            match effect:
                case Exchange():
                    response = await self._exchange(effect)
                    return read_response(response, response.content)
                case Open():
                    return await self._open(effect)
                case Read():
                    return b"" if self._chunks is None else await anext(self._chunks, b"")
                case Pause(seconds):
                    return await asyncio.sleep(seconds)
                case Work(work):
                    return await asyncio.to_thread(work)
                case _:
                    raise TypeError(f"{effect!r} is no effect")
        except httpx.HTTPError as error:
            raise translate_error(error, self._url) from error

    async def _exchange(self, effect: Exchange) -> httpx.Response:
        request = effect.request
        headers = build_request_headers(request)
        content = None if request.body is None else AwaitedContent(request.body)
        timeout = create_answer_timeout(self._timeout, effect.answer_seconds)
        return await self._client.request(request.method, request.path, headers=headers, content=content, timeout=timeout)

    async def _open(self, effect: Open) -> Response:
        await self._stream.aclose()
        method, path, headers = effect.request.method, effect.request.path, effect.request.headers
        timeout = create_stream_timeout(self._timeout, effect.idle_seconds)
        response = await self._stream.enter_async_context(self._client.stream(method, path, headers=headers, timeout=timeout))
        if response.status_code != 200:
            return read_response(response, await response.aread())
        self._chunks = response.aiter_bytes()
        return read_response(response)

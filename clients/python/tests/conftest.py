"""Every scenario that speaks to a server runs with both clients."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from muster_client import AsyncClient, Client, Retry
from tests.fake_server import FakeMuster, serving

AT_ONCE = Retry(first_seconds=0.0, longest_seconds=0.0, patience_seconds=30.0)
"""As long as failures are fewer than patience; no test waits."""


class Awaited:
    """An asynchronous client as if it were a blocking one, so that scenarios are written once."""

    def __init__(self, client: AsyncClient, runner: asyncio.Runner) -> None:
        self._client = client
        self._runner = runner

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._client, name)

        def call(*arguments: Any, **options: Any) -> Any:
            result = method(*arguments, **options)
            return self._iterated(result) if isinstance(result, AsyncIterator) else self._runner.run(result)

        return call

    def _iterated(self, items: Any) -> Iterator[Any]:
        nothing = object()

        async def following() -> Any:
            return await anext(items, nothing)

        try:
            while (item := self._runner.run(following())) is not nothing:
                yield item
        finally:
            self._runner.run(items.aclose())


@pytest.fixture(autouse=True)
def no_settings_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings that a test does not give are absent, whatever the environment of its caller has."""
    for name in ("MUSTER_URL", "MUSTER_TOKEN"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def fake() -> FakeMuster:
    return FakeMuster()


@pytest.fixture
def url(fake: FakeMuster) -> Iterator[str]:
    with serving(fake) as url:
        yield url


@pytest.fixture(params=["blocking", "asynchronous"])
def muster(request: pytest.FixtureRequest, url: str) -> Iterator[Any]:
    if request.param == "blocking":
        with Client(url, token="muster_secret", timeout=5, retry=AT_ONCE) as client:
            yield client
        return
    with asyncio.Runner() as runner:
        asynchronous = AsyncClient(url, token="muster_secret", timeout=5, retry=AT_ONCE)
        yield Awaited(asynchronous, runner)
        runner.run(asynchronous.close())

"""The asynchronous client."""

import os
from collections.abc import AsyncIterator, Sequence
from types import TracebackType
from typing import Any, Self, Unpack, overload

from muster_client import operations
from muster_client.arena import AsyncArena
from muster_client.arguments import suggests_keywords_of_methods
from muster_client.awaiting import AwaitingDriver
from muster_client.calls import Deadline
from muster_client.checkpoint import CheckpointLike
from muster_client.episode import Episode
from muster_client.errors import ServerError, Timeout
from muster_client.evaluation import Evaluation, Event
from muster_client.grant import Grant
from muster_client.pool import Pool
from muster_client.progress import Progress, watching
from muster_client.rollouts import AsyncRollouts
from muster_client.settings import DEFAULT_TIMEOUT_SECONDS, Retry, resolve_settings
from muster_client.submission import ComparisonOptions, EvaluationOptions, Filter
from muster_client.suite import KnownSuite, SuiteLike
from muster_client.summary import ComparisonSummary, Summary


@suggests_keywords_of_methods
class AsyncClient:
    """Speaks to a Muster server. Several tasks of one event loop may share one.

    @param url: of the server; MUSTER_URL when left out.
    @param token: MUSTER_TOKEN when left out; none for a server on loopback that does without.
    @param timeout: seconds for a connection, and for each silence while a request or its answer travels.
    @param retry: how long trouble that passes is waited out.
    @param plain_http: allows a token to travel to another machine without TLS.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        timeout: float = DEFAULT_TIMEOUT_SECONDS,
        retry: Retry | None = None,
        plain_http: bool = False,
    ) -> None:
        self._settings = resolve_settings(url, token, timeout, retry, plain_http)
        self._driver = AwaitingDriver(self._settings)
        self.arena = AsyncArena(self._settings, self._driver)
        """Plays tasks."""
        self.rollouts = AsyncRollouts(self._settings, self._driver)
        """Delivers groups of trajectories for a training."""

    def __repr__(self) -> str:
        return f"AsyncClient({self._settings.url!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections."""
        await self._driver.close()

    @overload
    async def evaluate(
        self,
        checkpoint: CheckpointLike,
        suite: SuiteLike,
        *,
        baseline: None = None,
        timeout: float | None = None,
        progress: Progress = "auto",
        **options: Unpack[EvaluationOptions],
    ) -> Summary: ...

    @overload
    async def evaluate(
        self,
        checkpoint: CheckpointLike,
        suite: SuiteLike,
        *,
        baseline: CheckpointLike,
        timeout: float | None = None,
        progress: Progress = "auto",
        **options: Unpack[EvaluationOptions],
    ) -> ComparisonSummary: ...

    async def evaluate(
        self,
        checkpoint: CheckpointLike,
        suite: SuiteLike,
        *,
        baseline: CheckpointLike | None = None,
        timeout: float | None = None,
        progress: Progress = "auto",
        **options: Unpack[EvaluationOptions],
    ) -> Summary | ComparisonSummary:
        """Evaluates a checkpoint on a suite, waits, and returns the answer; with a baseline, the comparison with it.

        @param checkpoint: path (uploaded when the server does not have it), URI, SHA-256 or `Checkpoint`.
        @param suite: name that the server knows, path of a YAML or JSON file, or the suite as a mapping.
        @param timeout: seconds to wait, looked at with each event and heartbeat of the server (every 15 s).
        @param progress: `auto` shows a bar in terminals and notebooks; a function is given the figures as they come.
        Raises EvaluationFailed and EvaluationCancelled, which hold what was known by then; Timeout; BadRequest, Unauthorized,
        Forbidden, NotFound, Conflict, QuotaExceeded; ServerUnavailable when patience has run out; ServerError; InvalidArgument.
        """
        submission = operations.submit(self._settings, checkpoint, suite, baseline, options)
        with watching(progress, "evaluating") as watch:
            return await self._driver.run(operations.submit_and_wait(self._settings, submission, timeout, watch))

    async def compare(
        self,
        baseline: CheckpointLike,
        candidates: CheckpointLike | Sequence[CheckpointLike],
        suite: SuiteLike,
        *,
        timeout: float | None = None,
        progress: Progress = "auto",
        **options: Unpack[ComparisonOptions],
    ) -> ComparisonSummary:
        """Compares candidates with a baseline on the same episodes, waits, and returns the verdicts. Raises as `evaluate` does."""
        submission = operations.submit_comparison(self._settings, baseline, _several(candidates), suite, options)
        with watching(progress, "comparing") as watch:
            answer = await self._driver.run(operations.submit_and_wait(self._settings, submission, timeout, watch))
        if isinstance(answer, ComparisonSummary):
            return answer
        raise ServerError("the server answered a comparison with the summary of an evaluation")

    async def submit(
        self,
        checkpoint: CheckpointLike,
        suite: SuiteLike,
        *,
        baseline: CheckpointLike | None = None,
        **options: Unpack[EvaluationOptions],
    ) -> Evaluation:
        """Submits an evaluation as `evaluate` does, without waiting. It is played even if this process ends."""
        return await self._driver.run(operations.submit(self._settings, checkpoint, suite, baseline, options))

    async def submit_comparison(
        self,
        baseline: CheckpointLike,
        candidates: CheckpointLike | Sequence[CheckpointLike],
        suite: SuiteLike,
        **options: Unpack[ComparisonOptions],
    ) -> Evaluation:
        """Submits a comparison as `compare` does, without waiting."""
        steps = operations.submit_comparison(self._settings, baseline, _several(candidates), suite, options)
        return await self._driver.run(steps)

    async def wait(self, evaluation_id: str, *, timeout: float | None = None, progress: Progress = "auto") -> Summary | ComparisonSummary:
        """Waits for a submitted evaluation or comparison, and returns the answer. Raises as `evaluate` does."""
        with watching(progress, evaluation_id) as watch:
            return await self._driver.run(operations.wait_for_answer(self._settings, evaluation_id, timeout, watch))

    async def get(self, evaluation_id: str) -> Evaluation:
        """Returns one evaluation, with its running figures or its summary."""
        return await self._driver.run(operations.get(self._settings, evaluation_id))

    async def report(self, evaluation_id: str) -> str:
        """Returns the answer as a self-contained HTML page for people. Raises `ServerAnswer` when there is no answer yet."""
        return await self._driver.run(operations.report(self._settings, evaluation_id))

    def list(self, *, page_size: int = 50, **filters: Unpack[Filter]) -> AsyncIterator[Evaluation]:
        """Yields evaluations and comparisons, the latest first, without their summaries. Further pages are requested as they are needed."""
        return self._driver.iterate(operations.list_evaluations(self._settings, filters, page_size))

    def events(self, evaluation_id: str, *, after: int = 0, timeout: float | None = None) -> AsyncIterator[Event]:
        """Yields all events after one, once each, until the evaluation is over. Broken connections continue where they broke."""
        deadline = Deadline(self._settings, timeout, lambda seconds: Timeout(evaluation_id, seconds))
        return self._driver.iterate(operations.events(self._settings, evaluation_id, after, deadline))

    def episodes(self, evaluation_id: str, *, first: int = 0, arm: int = 0) -> AsyncIterator[Episode]:
        """Yields settled episodes by index.

        @param first: the first index. @param arm: in a comparison 0 for the baseline, 1, 2, … for the candidates.
        """
        return self._driver.iterate(operations.episodes(self._settings, evaluation_id, first, arm))

    async def transcript(self, evaluation_id: str, index: int, *, arm: int = 0) -> dict[str, Any]:
        """Returns the record of an agent's actions in one episode, as the server sends it; it has no steps if no agent acted.

        @param arm: in a comparison 0 for the baseline, 1, 2, … for the candidates.
        """
        return await self._driver.run(operations.transcript(self._settings, evaluation_id, index, arm))

    async def cancel(self, evaluation_id: str) -> Evaluation:
        """Cancels an evaluation. The figures so far are kept, labelled partial."""
        return await self._driver.run(operations.cancel(self._settings, evaluation_id))

    async def upload(self, path: str | os.PathLike[str]) -> str:
        """Uploads a checkpoint that the server does not have. Returns its SHA-256, which names it from now on."""
        return await self._driver.run(operations.upload(self._settings, path))

    async def grant(self, sha256: str, principal: str) -> Grant:
        """Lets another principal use a checkpoint that the caller's principal has brought."""
        return await self._driver.run(operations.grant(self._settings, sha256, principal))

    async def revoke_grant(self, sha256: str, principal: str) -> Sequence[Grant]:
        """Revokes a grant. Returns the revoked grants; none when there was no such grant."""
        return await self._driver.run(operations.revoke_grant(self._settings, sha256, principal))

    async def grants(self, sha256: str) -> Sequence[Grant]:
        """Returns the grants that the caller's principal has made; for an operator, all grants."""
        return await self._driver.run(operations.grants(self._settings, sha256))

    async def suite(self, name: str) -> KnownSuite:
        """Describes a suite that the server has by name: its digest shows whether it has changed."""
        return await self._driver.run(operations.suite(self._settings, name))

    async def pools(self) -> Sequence[Pool]:
        """Returns the pools of sandboxes, for operators."""
        return await self._driver.run(operations.pools(self._settings))

    async def change_pool(
        self, name: str, *, min: int | None = None, max: int | None = None, warm: int | None = None, draining: bool | None = None
    ) -> Pool:
        """Scales or drains a pool, until the server ends. What is left out stays as it is."""
        change = {"min": min, "max": max, "warm": warm, "draining": draining}
        return await self._driver.run(operations.change_pool(self._settings, name, change))


def _several(candidates: CheckpointLike | Sequence[CheckpointLike]) -> Sequence[CheckpointLike]:
    return candidates if isinstance(candidates, Sequence) and not isinstance(candidates, str) else [candidates]

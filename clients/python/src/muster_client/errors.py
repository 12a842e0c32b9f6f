"""Errors of the client. Every error is a `MusterError`, and says what was wrong and what was expected."""

from dataclasses import dataclass


class MusterError(Exception):
    """Anything that this package raises on purpose."""


class InvalidArgument(MusterError, ValueError):
    """The arguments cannot be made into a request. Nothing was sent."""


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """One field of a request that is wrong."""

    field: str
    """Path in the request: `body.suite.reward.bounds`."""
    detail: str
    """What was wrong, in words."""
    expected: str | None = None
    """The expected value, where the server states it separately."""


class ServerAnswer(MusterError):
    """The server refused, with a problem document (RFC 9457) where possible."""

    def __init__(self, status: int, code: str, detail: str, errors: tuple[FieldProblem, ...] = ()) -> None:
        super().__init__(f"{detail} ({status} {code})")
        self.status = status
        self.code = code
        """Stable, for programs: `suite.not-found`."""
        self.detail = detail
        self.errors = errors
        """Each wrong field, where the server names them."""


class BadRequest(ServerAnswer):
    """The request cannot be carried out as it is."""

    @property
    def path(self) -> str | None:
        """The first wrong field; None when it is not about one field."""
        return self.errors[0].field if self.errors else None

    @property
    def expected(self) -> str:
        """The expected value; where the server does not state it separately, what was wrong, in words."""
        if not self.errors:
            return self.detail
        return self.errors[0].expected or self.errors[0].detail


class Unauthorized(ServerAnswer):
    """The server does not know who is speaking: the token is missing, unknown, expired or revoked."""


class Forbidden(ServerAnswer):
    """The token may not do this."""


class NotFound(ServerAnswer):
    """There is no such resource."""


class Conflict(ServerAnswer):
    """It contradicts an earlier request."""


class QuotaExceeded(ServerAnswer):
    """Too much at a time, or for one day."""

    def __init__(
        self, status: int, code: str, detail: str, errors: tuple[FieldProblem, ...] = (), *, retry_after: float | None = None
    ) -> None:
        super().__init__(status, code, detail, errors)
        self.retry_after = retry_after
        """Seconds after which the request may be repeated; None when waiting does not help."""


class ServerError(MusterError):
    """The server, or something between, answered what it should not have: a defect, or the address of something else."""


class ServerUnavailable(MusterError):
    """The server cannot be reached, or cannot answer now, and went on so for longer than the client's patience."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Timeout(MusterError, TimeoutError):
    """The evaluation was not over in time. It continues: wait again with its id, or cancel it."""

    def __init__(self, evaluation_id: str, seconds: float) -> None:
        super().__init__(f"{evaluation_id} was not over within {seconds:g} s; it goes on, and can be waited for by its id")
        self.evaluation_id = evaluation_id


class LeaseLost(MusterError):
    """Groups were not acknowledged before their leases were over, and another may have them by now. A longer lease prevents it."""

    def __init__(self, groups: list[str]) -> None:
        what = "the lease ended before the acknowledgement, and another trainer may have it; request a longer lease"
        super().__init__(f"{', '.join(groups)}: {what}")
        self.groups = groups


class RolloutsFailed(MusterError):
    """A stream has failed: none of its groups are left."""

    def __init__(self, stream: str, problem: str | None) -> None:
        super().__init__(f"{stream} has failed: {problem}")
        self.stream = stream
        self.problem = problem

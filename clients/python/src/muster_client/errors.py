"""Errors of the client. Every error is a `MusterError`, and says what was wrong and what was expected."""

from dataclasses import dataclass


class MusterError(Exception):
    """Any error that this package raises on purpose."""


class InvalidArgument(MusterError, ValueError):
    """Arguments that do not make a request. Nothing was sent."""


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """A wrong field of a request."""

    field: str
    """The path in the request: `body.suite.reward.bounds`."""
    detail: str
    """The problem in words."""
    expected: str | None = None
    """The expected value, where the server states it separately."""


class ServerAnswer(MusterError):
    """A refusal by the server, with a problem document (RFC 9457) if there is one."""

    def __init__(self, status: int, code: str, detail: str, errors: tuple[FieldProblem, ...] = ()) -> None:
        super().__init__(f"{detail} ({status} {code})")
        self.status = status
        self.code = code
        """A stable code for programs: `suite.not-found`."""
        self.detail = detail
        self.errors = errors
        """The wrong fields, if the server names them."""


class BadRequest(ServerAnswer):
    """A request that cannot be carried out as it is."""

    @property
    def path(self) -> str | None:
        """The first wrong field; None when the error is not about one field."""
        return self.errors[0].field if self.errors else None

    @property
    def expected(self) -> str:
        """The expected value; the problem in words if the server does not state the value separately."""
        if not self.errors:
            return self.detail
        return self.errors[0].expected or self.errors[0].detail


class Unauthorized(ServerAnswer):
    """A token that is missing, unknown, expired or revoked."""


class Forbidden(ServerAnswer):
    """A request that the token does not allow."""


class NotFound(ServerAnswer):
    """A request for a resource that does not exist."""


class Conflict(ServerAnswer):
    """A request that contradicts an earlier one."""


class QuotaExceeded(ServerAnswer):
    """A request beyond a quota or a rate limit: too much at a time, or for one day."""

    def __init__(
        self, status: int, code: str, detail: str, errors: tuple[FieldProblem, ...] = (), *, retry_after: float | None = None
    ) -> None:
        super().__init__(status, code, detail, errors)
        self.retry_after = retry_after
        """Seconds after which the request may be repeated; None when waiting does not help."""


class ServerError(MusterError):
    """An answer that the server should not have given, such as 500: a defect, or the address of another program."""


class ServerUnavailable(MusterError):
    """A server that could not be reached, or could not answer, for longer than the client's patience."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Timeout(MusterError, TimeoutError):
    """An evaluation that was not over in time. It continues: wait again with its id, or cancel it."""

    def __init__(self, evaluation_id: str, seconds: float) -> None:
        super().__init__(f"{evaluation_id} was not over within {seconds:g} s; it goes on, and can be waited for by its id")
        self.evaluation_id = evaluation_id


class LeaseLost(MusterError):
    """Groups that were not acknowledged before their leases expired, so that another trainer may have them. A longer lease prevents it."""

    def __init__(self, groups: list[str]) -> None:
        what = "the lease ended before the acknowledgement, and another trainer may have it; request a longer lease"
        super().__init__(f"{', '.join(groups)}: {what}")
        self.groups = groups


class RolloutsFailed(MusterError):
    """A stream that has failed, and has no groups left."""

    def __init__(self, stream: str, problem: str | None) -> None:
        super().__init__(f"{stream} has failed: {problem}")
        self.stream = stream
        self.problem = problem

"""A checkpoint that is loaded in the policy's program, as the environment's program uses it."""

import json
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from muster_runner.apart.actions import Actions
from muster_runner.apart.observations import Observations
from muster_runner.apart.policy_link import PolicyLink, RowsFailed
from muster_runner.apart.space_data import UnsentSpace, write_space
from muster_runner.apart.wire import COUNT, REQUEST, RESET_BODY, ROW_FAULT, SENT_SPACES, Request
from muster_runner.failure import EnvironmentFault, ReportedFailure
from muster_runner.frames import Load
from muster_runner.policies.checkpoint import Fit
from muster_runner.policies.rows_policy import RowFaults, Rows
from muster_runner.refusal import EnvironmentRefusal, PolicyRefusal

MAX_WARNINGS = 16
NOT_A_BLOCK = -1


class DistantCheckpoint:
    """A checkpoint in the policy's program. That program verifies it before it runs any of its code."""

    def __init__(self, link: PolicyLink, request: Load) -> None:
        """Has the checkpoint loaded. @raises PolicyRefusal"""
        self._link = link
        self._fits = 0
        order = {"path": request.path, "digest": request.digest, "verified": request.verified}
        link.assert_silent()
        link.ask(link.request(Request.LOAD, json.dumps(order).encode()), 0)

    def fit(self, fit: Fit, /) -> "DistantPolicy":
        """Returns a policy for single observations. @raises Refusal"""
        number, _ = self._fit(fit, None)
        return DistantPolicy(self._link, number, fit)

    def fit_rows(self, fit: Fit, rows: int, /) -> "DistantRows":
        """Returns a policy for many rows. @raises Refusal"""
        number, warnings = self._fit(fit, rows)
        return DistantRows(self._link, number, fit, warnings)

    def _fit(self, fit: Fit, rows: int | None) -> tuple[int, tuple[str, ...]]:
        try:
            spaces = {"observation": write_space(fit.observation_space), "action": write_space(fit.action_space)}
        except UnsentSpace as error:
            raise EnvironmentRefusal(
                f"the environment has {error}, which a policy apart cannot be sent; it can be sent {SENT_SPACES} spaces. "
                "Wrap the environment, or play the policy together with it (policy: together in the template) if you trust its code"
            ) from error
        number, self._fits = self._fits, self._fits + 1
        order = {**spaces, "deterministic": fit.deterministic, "rows": rows}
        answer = self._link.ask(self._link.request(Request.FIT, json.dumps(order).encode(), number), 0)
        return number, _read_warnings(bytes(answer))


def _read_warnings(answer: bytes) -> tuple[str, ...]:
    if not answer:
        return ()
    try:
        texts = json.loads(answer)
    except (ValueError, RecursionError) as error:
        raise PolicyRefusal("the policy's program sent invalid remarks on the checkpoint") from error
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise PolicyRefusal("the policy's program sent remarks on the checkpoint that are not a list of texts")
    return tuple(texts[:MAX_WARNINGS])


class DistantPolicy:
    """Sends one observation and receives one action, with one system call for each."""

    def __init__(self, link: PolicyLink, number: int, fit: Fit) -> None:
        self._link = link
        self._number = number
        self._observations = Observations(fit.observation_space)
        self._actions = Actions(fit.action_space)
        self._reset = link.request(Request.RESET, bytes(RESET_BODY.size), number)
        self._ask = link.ask
        self._bytes = self._actions.bytes
        self._read = _make_choice_reader(self._actions) or self._actions.read
        leaf = self._observations.only
        is_array = leaf is not None and not leaf.is_choice
        self._dtype: Any = leaf.dtype if leaf is not None and is_array else None
        self._shape: Any = leaf.shape if leaf is not None and is_array else None
        # A view of the request's bytes. An observation with the space's dtype and shape is copied straight into it.
        self._request = link.request(Request.ACT, bytes(self._observations.bytes), number, 1)
        self._numbers: Any = None
        if self._dtype is not None:
            self._numbers = np.frombuffer(self._request, self._dtype, offset=REQUEST.size).reshape(self._shape)

    def reset(self, seed: int, /) -> None:
        self._link.assert_silent()
        self._reset[REQUEST.size :] = RESET_BODY.pack(0, seed, NOT_A_BLOCK)
        self._ask(self._reset, 0)

    def act(self, observation: Any, /) -> Any:
        """Returns an action. @raises ReportedFailure with the policy's error, ValueError if the action does not fit; EnvironmentFault"""
        if type(observation) is np.ndarray and observation.dtype == self._dtype and observation.shape == self._shape:
            self._numbers[...] = observation
            return self._read(self._ask(self._request, self._bytes))
        is_natural, body = self._observations.write(observation)
        return self._read(self._ask(self._link.request(Request.ACT, body, self._number, 1, is_natural), self._bytes))


def _make_choice_reader(actions: Actions) -> Any:
    """Returns a reader of actions for a Discrete space, the most common kind, that does without NumPy; None for other spaces."""
    leaf = actions.only
    if leaf is None or not leaf.is_choice:
        return None
    low, high, space = leaf.low, leaf.high, actions.space

    def read(data: memoryview) -> int:
        number = int.from_bytes(data, "little", signed=True)
        if low <= number < high:
            return number
        raise ValueError(f"the action {number} does not fit {space}")

    return read


class DistantRows:
    """Sends one message and receives one for all rows of a step."""

    def __init__(self, link: PolicyLink, number: int, fit: Fit, warnings: tuple[str, ...]) -> None:
        self.warnings = warnings
        self._link = link
        self._number = number
        self._observations = Observations(fit.observation_space)
        self._actions = Actions(fit.action_space)
        self._block_seed = NOT_A_BLOCK

    def begin_block(self, seed: int, /) -> None:
        """Keeps the seed, which is sent with the first reset."""
        self._block_seed = seed

    def reset_row(self, row: int, seed: int, /) -> None:
        self._link.assert_silent()
        body = RESET_BODY.pack(row, seed, self._block_seed)
        self._block_seed = NOT_A_BLOCK
        self._link.ask(self._link.request(Request.RESET, body, self._number), 0)

    def act_rows(self, rows: Rows, observations: Sequence[Any], /) -> Sequence[Any]:
        """Returns an action for each row. @raises RowFaults, ReportedFailure"""
        try:
            is_natural, data = self._observations.write_rows(observations)
        except EnvironmentFault:
            return self._act_fitting(rows, observations)
        count = len(rows)
        row_errors: dict[int, BaseException] = {}
        try:
            answer = self._request(Request.ACT_ROWS, rows, data, is_natural)
        except RowsFailed as failed:
            row_errors, answer = self._read_row_errors(failed.body, count)
        actions, errors = self._actions.read_rows(answer, count)
        if row_errors or errors:
            raise RowFaults(actions, {**errors, **row_errors})
        return actions

    def _act_fitting(self, rows: Rows, observations: Sequence[Any]) -> Sequence[Any]:
        """Requests actions for the rows whose observation can be sent. @raises RowFaults for the others"""
        actions: list[Any] = [None] * len(rows)
        errors: dict[int, BaseException] = {}
        for place, observation in enumerate(observations):
            try:
                self._observations.write(observation)
            except EnvironmentFault as fault:
                errors[place] = fault
        places = [place for place in range(len(rows)) if place not in errors]
        try:
            answers = self.act_rows(rows[places], [observations[place] for place in places]) if places else []
        except RowFaults as faults:
            answers = faults.actions
            errors.update({places[place]: error for place, error in faults.errors.items()})
        for place, answer in zip(places, answers, strict=True):
            actions[place] = answer
        raise RowFaults(actions, errors)

    def act_batch(self, rows: Rows, observations: Any, /) -> Any:
        is_natural, data = self._observations.write_batch(observations, len(rows))
        return self._actions.read_batch(self._request(Request.ACT_BATCH, rows, data, is_natural), len(rows))

    def _request(self, kind: Request, rows: Rows, data: bytes, is_natural: bool) -> memoryview:
        count = len(rows)
        request = self._link.request(kind, rows.astype(np.int64).tobytes() + data, self._number, count, is_natural)
        return self._link.ask(request, count * self._actions.bytes)

    def _read_row_errors(self, body: bytes, count: int) -> tuple[dict[int, BaseException], memoryview]:
        """Parses the errors by row, and the actions that follow. @raises ReportedFailure for all rows when the body is malformed."""
        row_errors: dict[int, BaseException] = {}
        data = memoryview(body)
        try:
            (faults,) = COUNT.unpack_from(data)
            data = data[COUNT.size :]
            for _ in range(min(faults, count)):
                place, is_out_of_memory, length = ROW_FAULT.unpack_from(data)
                text = bytes(data[ROW_FAULT.size : ROW_FAULT.size + length]).decode("utf-8", "replace")
                row_errors[place] = ReportedFailure(text, bool(is_out_of_memory))
                data = data[ROW_FAULT.size + length :]
        except struct.error as error:
            raise ReportedFailure(f"the policy's program sent an invalid report of failed rows: {error}") from None
        if faults > count or any(place >= count for place in row_errors) or len(data) != count * self._actions.bytes:
            raise ReportedFailure("the policy's program sent an invalid report of failed rows")
        return row_errors, data

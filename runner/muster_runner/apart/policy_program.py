"""The policy's program: loads the checkpoint and answers the environment's program.

Once code of a checkpoint runs here, nothing that this program sends is reliable. The environment's program checks all of it.
"""

import contextlib
import gc
import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

import numpy as np

from muster_runner.apart.actions import Actions
from muster_runner.apart.observations import Observations
from muster_runner.apart.space_data import read_space
from muster_runner.apart.wire import ANSWER, COUNT, GREETING, MAX_TEXT_BYTES, REQUEST, RESET_BODY, ROW_FAULT, Answer, Request
from muster_runner.carried_code import Visit, forget, visit
from muster_runner.digest import verify_digest
from muster_runner.failure import describe, describe_load
from muster_runner.json_fields import as_object, parse_object
from muster_runner.policies.checkpoint import Checkpoint, Fit
from muster_runner.policies.read_checkpoint import read_checkpoint
from muster_runner.policies.rows_policy import RowFaults
from muster_runner.preloaded import find_preloaded
from muster_runner.random_state import seed_global_generators
from muster_runner.refusal import PolicyRefusal
from muster_runner.shared_memory import is_memory_shared

START_BYTES = 4096


class Fitted:
    """A policy for single observations or for rows, with the encoders of its spaces."""

    def __init__(self, checkpoint: Checkpoint, fit: Fit, rows: int | None) -> None:
        """@raises PolicyRefusal"""
        self.observations = Observations(fit.observation_space)
        self.actions = Actions(fit.action_space)
        self.policy: Any = checkpoint.fit(fit) if rows is None else checkpoint.fit_rows(fit, rows)
        self.is_rows = rows is not None
        leaf = self.observations.only
        self.array = None if leaf is None or leaf.is_choice else (leaf.dtype, leaf.shape)
        only = self.actions.only
        self.is_choice = only is not None and only.is_choice


class PolicyProgram:
    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._buffer = bytearray(START_BYTES)
        self._checkpoint: Checkpoint | None = None
        self._visits: list[Visit] = []
        self._fitted: dict[int, Fitted] = {}
        self._is_forked = is_memory_shared()

    def run(self) -> None:
        """Answers requests. Returns when the environment's program has ended."""
        self._line.sendall(GREETING)
        receive, unpack = self._line.recv_into, REQUEST.unpack_from
        header = REQUEST.size
        while True:
            received = receive(self._buffer)
            while 0 < received < header:
                received += self._receive_more(received)
            if received == 0:
                return
            kind, is_natural, fit, count, length, nonce = unpack(self._buffer)
            while received < header + length:
                received += self._receive_more(received, header + length)
            body = memoryview(self._buffer)[header : header + length]
            if kind == Request.ACT:
                self._act(fit, is_natural, body, nonce)
            else:
                self._answer(nonce, *self._obey(Request(kind), bool(is_natural), fit, count, body))
            del body

    def _receive_more(self, received: int, wanted: int = 0) -> int:
        if wanted > len(self._buffer):
            # A view of the old buffer may still exist, and a bytearray with views cannot grow.
            grown = bytearray(wanted)
            grown[:received] = self._buffer[:received]
            self._buffer = grown
        with memoryview(self._buffer) as view, view[received:] as rest:
            count = self._line.recv_into(rest)
        if count == 0:
            raise EOFError("the environment's program is gone")
        return count

    def _answer(self, nonce: bytes, kind: Answer, body: bytes) -> None:
        self._line.sendall(ANSWER.pack(kind, len(body), nonce) + body)

    def _act(self, fit: int, is_natural: int, body: memoryview, nonce: bytes) -> None:
        """Answers with an action. Nearly all of this program's own time is spent here."""
        fitted = self._fitted[fit]
        try:
            if is_natural and fitted.array is not None:
                dtype, shape = fitted.array
                observation = np.frombuffer(body, dtype).reshape(shape).copy()
            else:
                observation = fitted.observations.read(body, bool(is_natural))
            action = fitted.policy.act(observation)
            data = action.to_bytes(8, "little", signed=True) if fitted.is_choice else fitted.actions.write(action)
        except BaseException as error:
            self._answer(nonce, *_write_failure(error))
        else:
            self._line.sendall(ANSWER.pack(0, len(data), nonce) + data)

    def _obey(self, kind: Request, is_natural: bool, fit: int, count: int, body: memoryview) -> tuple[Answer, bytes]:
        try:
            match kind:
                case Request.LOAD:
                    return self._load(bytes(body))
                case Request.FIT:
                    return self._fit(fit, bytes(body))
                case Request.RESET:
                    return self._reset(self._fitted[fit], *RESET_BODY.unpack(body))
                case Request.ACT_ROWS:
                    return self._act_rows(self._fitted[fit], is_natural, count, body)
                case Request.ACT_BATCH:
                    return self._act_batch(self._fitted[fit], is_natural, count, body)
                case Request.ACT:
                    raise AssertionError("it is answered elsewhere")
        except PolicyRefusal as refusal:
            return Answer.REFUSED, _encode(str(refusal))
        except BaseException as error:
            return _write_failure(error)

    def _load(self, body: bytes) -> tuple[Answer, bytes]:
        order = parse_object(body, "load")
        path, digest = Path(order["path"]), str(order["digest"])
        # Modules of a checkpoint must not leave bytecode beside them: it would change the directory's digest.
        sys.dont_write_bytecode = True
        self._unload()
        try:
            preloaded = find_preloaded(digest)
            if not preloaded and not order["verified"]:
                verify_digest(path, digest)
            if path.is_dir():
                self._visits.append(visit(path))
            self._checkpoint = preloaded or read_checkpoint(path)
        except PolicyRefusal:
            raise
        except BaseException as error:
            raise PolicyRefusal(f"{path.name} cannot be loaded: {describe_load(error)}") from error
        finally:
            gc.collect()
            if not self._is_forked:
                gc.freeze()
        return Answer.DONE, b""

    def _unload(self) -> None:
        """Frees the former load first: both at once might not fit into the sandbox's memory."""
        if not self._is_forked:
            gc.unfreeze()
        self._fitted.clear()
        self._checkpoint = None
        for visited in reversed(self._visits):
            forget(visited)
        self._visits.clear()
        gc.collect()

    def _fit(self, number: int, body: bytes) -> tuple[Answer, bytes]:
        order = parse_object(body, "fit")
        if self._checkpoint is None:
            raise PolicyRefusal("a policy has to be loaded before it is fitted")
        observation_space = read_space(as_object(order["observation"], "observation"))
        action_space = read_space(as_object(order["action"], "action"))
        try:
            fitted = Fitted(self._checkpoint, Fit(observation_space, action_space, bool(order["deterministic"])), order["rows"])
        except PolicyRefusal:
            raise
        except BaseException as error:
            raise PolicyRefusal(f"the checkpoint cannot be loaded: {describe_load(error)}") from error
        self._fitted[number] = fitted
        warnings = [str(warning)[:1000] for warning in fitted.policy.warnings][:16] if fitted.is_rows else []
        return (Answer.REMARKS, json.dumps(warnings).encode()) if warnings else (Answer.DONE, b"")

    def _reset(self, fitted: Fitted, row: int, seed: int, block_seed: int) -> tuple[Answer, bytes]:
        if not fitted.is_rows:
            # Episodes are played one by one, so no other code of this program draws from these generators.
            seed_global_generators(seed)
            fitted.policy.reset(seed)
            return Answer.DONE, b""
        if block_seed >= 0:
            seed_global_generators(block_seed)
            for each in self._fitted.values():
                each.policy.begin_block(block_seed)
        fitted.policy.reset_row(row, seed)
        return Answer.DONE, b""

    def _act_rows(self, fitted: Fitted, is_natural: bool, count: int, body: memoryview) -> tuple[Answer, bytes]:
        rows, data = _read_rows(body, count)
        observations = fitted.observations.read_rows(data, count, is_natural)
        try:
            return Answer.DONE, fitted.actions.write_rows(fitted.policy.act_rows(rows, observations))
        except RowFaults as faults:
            row_errors = _write_row_errors(faults)
            actions = [None if place in faults.errors else action for place, action in enumerate(faults.actions)]
            return Answer.ROWS_FAILED, row_errors + fitted.actions.write_rows(actions)

    def _act_batch(self, fitted: Fitted, is_natural: bool, count: int, body: memoryview) -> tuple[Answer, bytes]:
        rows, data = _read_rows(body, count)
        actions = fitted.policy.act_batch(rows, fitted.observations.read_batch(data, count, is_natural))
        return Answer.DONE, fitted.actions.write_batch(actions, count)


def _read_rows(body: memoryview, count: int) -> tuple[Any, memoryview]:
    return np.frombuffer(body[: 8 * count], np.int64).copy(), body[8 * count :]


def _write_row_errors(faults: RowFaults) -> bytes:
    room = MAX_TEXT_BYTES // (len(faults.errors) + 1) - ROW_FAULT.size
    row_errors = COUNT.pack(len(faults.errors))
    for place, error in faults.errors.items():
        text = _encode(describe(error), max(0, room))
        row_errors += ROW_FAULT.pack(place, isinstance(error, MemoryError), len(text)) + text
    return row_errors


def _write_failure(error: BaseException) -> tuple[Answer, bytes]:
    if isinstance(error, RowFaults):
        error = next(iter(error.errors.values()))
    return Answer.OUT_OF_MEMORY if isinstance(error, MemoryError) else Answer.FAILED, _encode(describe(error))


def _encode(text: str, limit: int = MAX_TEXT_BYTES) -> bytes:
    return text.encode("utf-8", "replace")[:limit]


def serve(descriptor: int) -> int:
    """@returns the process's exit code."""
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, fileno=os.dup(descriptor))
    os.close(descriptor)
    line.setblocking(True)
    # The environment's program may have ended, and then no answer is needed.
    with contextlib.suppress(OSError, EOFError):
        PolicyProgram(line).run()
    return 0

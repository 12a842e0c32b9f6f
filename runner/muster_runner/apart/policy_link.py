"""The environment's end of the connection to the policy's program."""

import fcntl
import os
import socket
import sys
from typing import NoReturn

from muster_runner.apart.wire import ANSWER, GREETING, MAX_TEXT_BYTES, NONCE_AT, REQUEST, Answer, Request
from muster_runner.channel import LOWEST_PRIVATE_DESCRIPTOR
from muster_runner.exit_codes import EXIT_POLICY_LINE
from muster_runner.failure import ReportedFailure
from muster_runner.refusal import PolicyRefusal

NONCE_BYTES = 8
# One system call draws random bytes for this many requests.
NONCE_POOL_BYTES = 512 * NONCE_BYTES
START_BYTES = 4096
_KINDS = frozenset(Answer)


class RowsFailed(Exception):
    """A step in which some rows have no action."""

    def __init__(self, body: bytes) -> None:
        super().__init__()
        self.body = body


class PolicyLink:
    """Sends requests, and accepts only the answers that match them.

    Code of the checkpoint may run at the other end. An answer has the nonce of its request, which cannot be known before, and the length
    that the spaces require. When the connection ends, or carries anything else, this process ends: Muster decides which episode that counts
    against, and whether the policy caused it.
    """

    def __init__(self, descriptor: int) -> None:
        private = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, LOWEST_PRIVATE_DESCRIPTOR)
        os.close(descriptor)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, fileno=private)
        # The launcher of a plain sandbox passes a non-blocking socket.
        self._socket.setblocking(True)
        self._send = self._socket.send
        self._receive = self._socket.recv_into
        self._nonces = b""
        self._next_nonce = 0
        self._buffer = bytearray(START_BYTES)
        # A child that the environment forks must not send requests in the name of this process.
        os.register_at_fork(after_in_child=self._socket.close)

    def greet(self) -> None:
        """Waits until the policy's program is ready."""
        seen = b""
        while len(seen) < len(GREETING):
            chunk = self._socket.recv(len(GREETING) - len(seen))
            if not chunk:
                self._end("it ended before it was ready")
            seen += chunk
        if seen != GREETING:
            self._end(f"it said {seen!r}, expected {GREETING!r}")

    def request(self, request: Request, body: bytes = b"", fit: int = 0, count: int = 0, is_natural: bool = True) -> bytearray:
        """Builds a request for `ask`."""
        return bytearray(REQUEST.pack(request, is_natural, fit, count, len(body), b"")) + body

    def ask(self, request: bytearray, length: int) -> memoryview:
        """Sends a request, and waits for an answer with a body of `length` bytes. @returns the body, which stays valid until the next
        request.

        @raises ReportedFailure with the policy's exception; RowsFailed; PolicyRefusal
        """
        place = self._next_nonce
        if place == len(self._nonces):
            self._nonces, place = os.urandom(NONCE_POOL_BYTES), 0
        self._next_nonce = place + NONCE_BYTES
        nonce = self._nonces[place : place + NONCE_BYTES]
        request[NONCE_AT : NONCE_AT + NONCE_BYTES] = nonce
        expected = ANSWER.pack(Answer.DONE, length, nonce)
        size = ANSWER.size + length
        if size >= len(self._buffer):
            # The buffer has one byte more than expected, to detect surplus data.
            self._buffer = bytearray(2 * size)
        try:
            sent = self._send(request)
            if sent != len(request):
                self._socket.sendall(memoryview(request)[sent:])
            received = self._receive(self._buffer)
        except OSError as error:
            self._end(f"its line is gone: {error}")
        if received != size or not self._buffer.startswith(expected):
            return memoryview(self._read_answer(received, nonce, length))
        return memoryview(self._buffer)[ANSWER.size : size]

    def assert_silent(self) -> None:
        """Checks that nothing arrives while no request is open."""
        try:
            self._socket.recv(1, socket.MSG_DONTWAIT | socket.MSG_PEEK)
        except BlockingIOError:
            return
        except OSError as error:
            self._end(f"its line is gone: {error}")
        self._end("it ended, or said something that it was not asked for")

    def _read_answer(self, received: int, nonce: bytes, length: int) -> bytes:
        """Handles data that is incomplete, or is not the expected answer. @returns the body of the answer."""
        received = self._fill(received, ANSWER.size)
        kind, said, echo = ANSWER.unpack_from(self._buffer)
        if echo != nonce:
            self._end("it answered what it was not asked")
        if kind not in _KINDS or (kind == Answer.REMARKS and length > 0):
            self._end(f"it gave an answer of the kind {kind}")
        if (kind == Answer.DONE and said != length) or said > length + MAX_TEXT_BYTES:
            self._end(f"its answer has {said} bytes, expected {length}")
        size = ANSWER.size + said
        if received > size or self._fill(received, size) != size:
            self._end("it said more than it was asked for")
        return _parse_body(Answer(kind), bytes(self._buffer[ANSWER.size : size]))

    def _fill(self, received: int, wanted: int) -> int:
        """Receives until the buffer holds `wanted` bytes. @returns the number of bytes in the buffer."""
        if wanted >= len(self._buffer):
            # A view of the old buffer may still exist, and a bytearray with views cannot grow.
            grown = bytearray(wanted + 1)
            grown[:received] = self._buffer[:received]
            self._buffer = grown
        view = memoryview(self._buffer)
        if received == 0:
            self._end("it has ended")
        while received < wanted:
            try:
                chunk = self._receive(view[received:])
            except OSError as error:
                self._end(f"its line is gone: {error}")
            if chunk == 0:
                self._end("it has ended")
            received += chunk
        return received

    def _end(self, problem: str) -> NoReturn:
        """Ends this process at once. An exception would count as the environment's or the policy's, and become an outcome."""
        os.write(2, f"the policy's program broke its line: {problem}\n".encode())
        sys.stderr.flush()
        os._exit(EXIT_POLICY_LINE)


def _parse_body(kind: Answer, body: bytes) -> bytes:
    match kind:
        case Answer.DONE | Answer.REMARKS:
            return body
        case Answer.FAILED | Answer.OUT_OF_MEMORY:
            raise ReportedFailure(body.decode("utf-8", "replace"), kind == Answer.OUT_OF_MEMORY)
        case Answer.REFUSED:
            raise PolicyRefusal(body.decode("utf-8", "replace"))
        case Answer.ROWS_FAILED:
            raise RowsFailed(body)

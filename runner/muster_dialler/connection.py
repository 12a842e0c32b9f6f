"""A WebSocket to Muster that never blocks: it buffers what it cannot send yet, and reports the size of the buffer."""

import select
import socket
import ssl
from collections import deque
from collections.abc import Iterable, Iterator
from http import HTTPStatus
from urllib.parse import urlsplit

from websockets.client import ClientProtocol
from websockets.exceptions import InvalidStatus
from websockets.frames import Frame, Opcode
from websockets.protocol import State
from websockets.uri import parse_uri

from muster_dialler.messages import PROTOCOL
from muster_dialler.settings import Settings

_HANDSHAKE_SECONDS = 10.0
# Muster sends 32 KiB at most.
_MESSAGE_MAX_BYTES = 1 << 20
_READ_BYTES = 1 << 16
_NOT_NOW = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class LostError(Exception):
    """The connection is closed or unusable."""


class RefusedError(Exception):
    """Muster has refused this container. Another attempt would not help."""


class Connection:
    """A connection that is open from its construction on."""

    def __init__(self, sock: socket.socket, protocol: ClientProtocol) -> None:
        sock.setblocking(False)
        self._socket = sock
        self._protocol = protocol
        self._unsent = bytearray()
        self._messages: deque[bytes] = deque()
        self._end: LostError | None = None
        # The first messages may have arrived together with the answer to the handshake.
        self._take_events()

    @property
    def unsent(self) -> int:
        """The number of buffered bytes that are not sent yet."""
        return len(self._unsent)

    def send(self, message: bytes) -> None:
        """Sends a message, or buffers it until it can be sent. @raises LostError"""
        if self._protocol.state is not State.OPEN:
            raise LostError("Muster closed the connection")
        self._protocol.send_binary(message)
        self._collect()

    def finish(self) -> None:
        """Tells Muster that no more messages follow."""
        if self._protocol.state is State.OPEN:
            self._protocol.send_close(1000)
            self._collect()

    def exchange(self, reads: Iterable[int], writes: Iterable[int], seconds: float) -> None:
        """Waits until one of the descriptors is ready, or data has passed here, and takes in the messages that have arrived.

        @raises LostError when the connection has ended, or nothing happened within `seconds`. Messages from before the end can still be
        taken.
        """
        if self._end is not None:
            raise self._end
        poll = select.poll()
        for descriptor in reads:
            poll.register(descriptor, select.POLLIN)
        for descriptor in writes:
            poll.register(descriptor, select.POLLOUT)
        self._flush()
        poll.register(self._socket, select.POLLIN | (select.POLLOUT if self._unsent else 0))
        if not poll.poll(seconds * 1000):
            raise LostError(f"nothing was heard of Muster for {seconds:.0f} s")
        self._receive()
        self._flush()

    def messages(self) -> Iterator[bytes]:
        """Yields messages that have arrived and were not taken yet."""
        while self._messages:
            yield self._messages.popleft()

    def close(self) -> None:
        self._socket.close()

    def _flush(self) -> None:
        try:
            while self._unsent:
                del self._unsent[: self._socket.send(self._unsent)]
        except _NOT_NOW:
            return
        except OSError as error:
            raise LostError(str(error)) from None

    def _receive(self) -> None:
        try:
            # Data that TLS has buffered would not wake a poll of the socket, so everything is read at once.
            while data := self._socket.recv(_READ_BYTES):
                self._protocol.receive_data(data)
                self._take_events()
            self._end = LostError("Muster closed the connection")
        except _NOT_NOW:
            return
        except OSError as error:
            self._end = LostError(str(error))

    def _take_events(self) -> None:
        self._collect()
        for event in self._protocol.events_received():
            if not isinstance(event, Frame) or event.opcode in (Opcode.PING, Opcode.PONG):
                continue
            if event.opcode in (Opcode.TEXT, Opcode.BINARY) and event.fin and event.data:
                self._messages.append(bytes(event.data))
            else:
                self._end = LostError("Muster closed the connection")

    def _collect(self) -> None:
        for data in self._protocol.data_to_send():
            self._unsent += data


def dial(settings: Settings) -> Connection:
    """Connects to Muster. @raises OSError when it does not answer; RefusedError when it refuses this container."""
    url = parse_uri(settings.url)
    sock = socket.create_connection((url.host, url.port), timeout=_HANDSHAKE_SECONDS)
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if url.secure:
            context = ssl.create_default_context(cadata=settings.authority)
            if settings.authority is not None:
                # Muster's own certificate is trusted by itself, independent of its issuer.
                context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
            sock = context.wrap_socket(sock, server_hostname=url.host)
        return Connection(sock, _shake_hands(sock, settings))
    except BaseException:
        sock.close()
        raise


def _shake_hands(sock: socket.socket, settings: Settings) -> ClientProtocol:
    protocol = ClientProtocol(parse_uri(settings.url), subprotocols=[PROTOCOL], max_size=_MESSAGE_MAX_BYTES)  # type: ignore[list-item]
    request = protocol.connect()
    request.headers["Authorization"] = f"Bearer {settings.token}"
    protocol.send_request(request)
    for data in protocol.data_to_send():
        sock.sendall(data)
    while protocol.state is State.CONNECTING and protocol.handshake_exc is None:
        data = sock.recv(_READ_BYTES)
        if data:
            protocol.receive_data(data)
        else:
            protocol.receive_eof()
    failure = protocol.handshake_exc
    if isinstance(failure, InvalidStatus) and failure.response.status_code < HTTPStatus.INTERNAL_SERVER_ERROR:
        body = (failure.response.body or b"").decode(errors="replace").strip()
        raise RefusedError(f"{urlsplit(settings.url).netloc} answered with status {failure.response.status_code}: {body}")
    if failure is not None:
        raise ConnectionError(str(failure))
    return protocol

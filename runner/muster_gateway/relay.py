"""Runs a program, and carries the connections that it makes to a port of this sandbox to Muster."""

import os
import selectors
import signal
import socket
import sys

from muster_gateway.connection import Connection
from muster_gateway.frames import Frame, FrameReader, Kind, read_credit

_LINE = 3
_READ_BYTES = 1 << 16
_WAITING = 64
# While more bytes of frames than this are unread by Muster, no connection is read.
_MOST_UNSENT = 1 << 20
EXIT_UNSTARTABLE = 127


class Relay:
    """Carries connections until the program has ended."""

    def __init__(self, listener: socket.socket, line: socket.socket, pid: int) -> None:
        self._listener = listener
        self._line = line
        self._pid = pid
        self._reader = FrameReader()
        self._unsent = bytearray()
        self._connections: dict[int, Connection] = {}
        self._made = 0
        self._is_open = True
        self._selector = selectors.DefaultSelector()

    def serve(self) -> int:
        """Carries connections. Returns the program's exit code, which is 128 + n after signal n."""
        ended = os.pidfd_open(self._pid)
        self._selector.register(ended, selectors.EVENT_READ)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._line, selectors.EVENT_READ)
        while True:
            for key, events in self._selector.select():
                if key.fd == ended:
                    _, status = os.waitpid(self._pid, 0)
                    code = os.waitstatus_to_exitcode(status)
                    return code if code >= 0 else 128 - code
                self._attend(key, events)
            self._watch()

    def _attend(self, key: selectors.SelectorKey, events: int) -> None:
        if key.fileobj is self._listener:
            self._accept()
        elif key.fileobj is self._line:
            if events & selectors.EVENT_READ:
                self._receive()
            self._flush()
        elif isinstance(key.data, Connection) and key.data.number in self._connections:
            self._send(*key.data.attend(events))
            self._forget(key.data)

    def _accept(self) -> None:
        try:
            accepted, _ = self._listener.accept()
        except OSError:
            return
        if not self._is_open:
            accepted.close()
            return
        self._made += 1
        connection = Connection(self._made, accepted)
        self._connections[connection.number] = connection
        self._selector.register(accepted, selectors.EVENT_READ, connection)
        self._send(Frame(connection.number, Kind.OPEN))

    def _receive(self) -> None:
        try:
            data = self._line.recv(_READ_BYTES)
        except BlockingIOError:
            return
        if not data:
            self._hang_up()
            return
        for frame in self._reader.push(data):
            connection = self._connections.get(frame.connection)
            if connection is None:
                continue
            match frame.kind:
                case Kind.DATA:
                    self._send(*connection.take(frame.body))
                case Kind.END:
                    connection.end()
                case Kind.CREDIT:
                    connection.credit += read_credit(frame)
                case _:
                    connection.is_over = True
            self._forget(connection)

    def _hang_up(self) -> None:
        """Handles the end of the line: Muster has closed it, and will end the program."""
        self._is_open = False
        self._unsent.clear()
        self._selector.unregister(self._line)
        for connection in list(self._connections.values()):
            connection.is_over = True
            self._forget(connection)

    def _forget(self, connection: Connection) -> None:
        if connection.is_over and self._connections.pop(connection.number, None) is not None:
            if connection.is_watched:
                self._selector.unregister(connection.socket)
            connection.socket.close()

    def _send(self, *frames: Frame) -> None:
        for frame in frames:
            self._unsent += frame.pack()

    def _flush(self) -> None:
        try:
            while self._unsent and self._is_open:
                del self._unsent[: self._line.send(self._unsent[:_READ_BYTES])]
        except BlockingIOError:
            return
        except OSError:
            self._hang_up()

    def _watch(self) -> None:
        """Registers the events for which there is work."""
        self._flush()
        if self._is_open:
            self._selector.modify(self._line, selectors.EVENT_READ | (selectors.EVENT_WRITE if self._unsent else 0))
        may_read = len(self._unsent) < _MOST_UNSENT
        for connection in self._connections.values():
            events = connection.wanted(may_read)
            if events and connection.is_watched:
                self._selector.modify(connection.socket, events, connection)
            elif events:
                self._selector.register(connection.socket, events, connection)
            elif connection.is_watched:
                self._selector.unregister(connection.socket)
            connection.is_watched = bool(events)


def run(argv: list[str]) -> int:
    """Runs a program with the addresses of the gateway in its environment. Returns the exit code."""
    line = socket.socket(fileno=_LINE)
    os.set_inheritable(line.fileno(), False)
    line.setblocking(False)
    listener = socket.create_server(("127.0.0.1", 0), backlog=_WAITING)
    listener.setblocking(False)
    base = f"http://127.0.0.1:{listener.getsockname()[1]}"
    own = {"OPENAI_BASE_URL": f"{base}/v1", "OPENAI_API_BASE": f"{base}/v1", "ANTHROPIC_BASE_URL": base}
    try:
        pid = _start(argv, os.environ | own)
    except OSError as error:
        line.setblocking(True)
        line.sendall(Frame(0, Kind.UNSTARTABLE, (error.strerror or str(error)).encode()).pack())
        print(f"{argv[0]}: {error.strerror}", file=sys.stderr)
        return EXIT_UNSTARTABLE
    return Relay(listener, line, pid).serve()


def _start(argv: list[str], environment: dict[str, str]) -> int:
    """Starts the program with the standard streams alone: it inherits no other descriptor of this process."""
    return os.posix_spawnp(argv[0], argv, environment, setsigdef=(signal.SIGPIPE, signal.SIGXFSZ))

"""A web server with one file, which goes wrong as a test wants it to."""

import http.server
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field


@dataclass
class Answered:
    """What became of one request."""

    status: int = 200
    # Bytes of the body after which the connection is cut.
    cut_after: int | None = None
    # A bit of the body that is sent as its opposite.
    flip: int | None = None
    # What the server says of the body's length, when that is not so.
    said_length: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None


Script = Callable[[int, str], Answered]


class WeightsServer:
    """Serves `content` by ranges. `script` is asked, for each request from 0 on with its range, what becomes of it."""

    def __init__(self, content: bytes, script: Script = lambda _number, _range: Answered()) -> None:
        self.content = content
        self.script = script
        self.asked: list[dict[str, str]] = []
        self.sent = 0
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                owner._answer(self)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/weights?proof=secret"

    @contextmanager
    def running(self) -> Iterator["WeightsServer"]:
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            thread.join()
            self._server.server_close()

    def _answer(self, handler: http.server.BaseHTTPRequestHandler) -> None:
        asked = handler.headers.get("Range", "")
        answered = self.script(len(self.asked), asked)
        self.asked.append({name.lower(): value for name, value in handler.headers.items()})
        first = int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0
        body = self.content[first:] if answered.body is None else answered.body
        status = 206 if asked and answered.status == 200 and answered.body is None else answered.status
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(body) if answered.said_length is None else answered.said_length))
        if status == 206:
            handler.send_header("Content-Range", f"bytes {first}-{len(self.content) - 1}/{len(self.content)}")
        for name, value in answered.headers.items():
            handler.send_header(name, value)
        handler.send_header("Connection", "close")
        handler.end_headers()
        self._send(handler, body, answered)
        handler.close_connection = True

    def _send(self, handler: http.server.BaseHTTPRequestHandler, body: bytes, answered: Answered) -> None:
        if answered.flip is not None:
            spoiled = bytearray(body)
            spoiled[answered.flip // 8] ^= 1 << (answered.flip % 8)
            body = bytes(spoiled)
        part = body if answered.cut_after is None else body[: answered.cut_after]
        self.sent += len(part)
        # The client may have gone.
        with suppress(OSError):
            handler.wfile.write(part)

"""A server that answers as Muster does, over a real socket, keeps what it was asked, and breaks down on request."""

import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.faults import Answer, CutStream, Drop, DropAfterWork, EndStream, Fault
from tests.samples import evaluation, events_of, problem

READ_BYTES = 64 * 1024


@dataclass(frozen=True)
class Asked:
    """A request that has come."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Upload:
    received: bytes = b""


class FakeMuster:
    """Its state, for tests to set up and to look at."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.checkpoints: dict[str, bytes] = {}
        self.uploads: dict[str, Upload] = {}
        self.evaluations: dict[str, dict[str, Any]] = {}
        self.events: dict[str, list[dict[str, Any]]] = {}
        self.episodes: dict[str, list[dict[str, Any]]] = {}
        self.by_key: dict[str, str] = {}
        self.next_evaluation: Callable[[str], tuple[dict[str, Any], list[dict[str, Any]]]] = lambda id: (evaluation(id), events_of(id))
        self.answers_at_once = False
        """As it does when the same was asked before."""
        self.page_size: int | None = None
        self.on_asked: Callable[[], None] = lambda: None
        """Called when a request has come, before it is answered."""
        self.forgets_bytes = False
        """Counts what is uploaded in place of keeping it."""
        self._faults: list[tuple[str, str, Fault]] = []
        self._lock = threading.Lock()

    def break_down(self, method: str, path: str, *faults: Fault) -> None:
        """The next requests with this method and a path that matches meet these, one each."""
        self._faults.extend((method, path, fault) for fault in faults)

    def fault_for(self, method: str, path: str) -> Fault | None:
        with self._lock:
            for at, (its_method, pattern, fault) in enumerate(self._faults):
                if its_method == method and re.fullmatch(pattern, path):
                    del self._faults[at]
                    return fault
        return None

    @property
    def faults_left(self) -> int:
        return len(self._faults)

    def requests(self, method: str, path: str) -> list[Asked]:
        return [asked for asked in self.asked if asked.method == method and re.fullmatch(path, asked.path)]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "FakeHttpServer"

    def log_message(self, format: str, *arguments: Any) -> None:
        """Tests look at what was asked; nothing is printed."""

    def do_GET(self) -> None:
        self._handle()

    do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = do_GET

    def _handle(self) -> None:
        fake = self.server.fake
        parts = urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        fault = fake.fault_for(self.command, parts.path)
        length = int(self.headers.get("content-length") or 0)
        most = fault.after_bytes if isinstance(fault, Drop) else length
        asked = Asked(self.command, parts.path, query, {k.lower(): v for k, v in self.headers.items()}, self.rfile.read(min(length, most)))
        fake.asked.append(replace(asked, body=b"") if fake.forgets_bytes else asked)
        fake.on_asked()
        self.fault = fault
        match fault:
            case Answer(status, document, headers):
                self._answer(status, document, headers)
            case Drop():
                if asked.method == "PUT":
                    self._keep(asked, partial=True)
                self._break()
            case _:
                self._route(asked)

    def _route(self, asked: Asked) -> None:
        fake = self.server.fake
        checkpoint = re.fullmatch(r"/v1/checkpoints/([0-9a-f]{64})(/grants)?(?:/([^/]+))?", asked.path)
        one = re.fullmatch(r"/v1/evaluations/([^/]+)(/events|/episodes)?", asked.path)
        if checkpoint:
            self._checkpoint(asked, *checkpoint.groups())
        elif asked.method == "POST" and asked.path in ("/v1/evaluations", "/v1/comparisons"):
            self._accept(asked)
        elif asked.method == "GET" and asked.path == "/v1/evaluations":
            self._list(asked)
        elif asked.path == "/v1/pools" or asked.path.startswith("/v1/pools/"):
            self._pools(asked)
        elif one is None or one[1] not in fake.evaluations:
            self._answer(404, problem(404, "evaluation.not-found", f"there is no {asked.path}"))
        elif one[2] == "/events":
            self._events(one[1], int(asked.headers.get("last-event-id", asked.query.get("after", "0"))))
        elif one[2] == "/episodes":
            self._episodes(one[1], int(asked.query.get("from", "0")))
        else:
            if asked.method == "DELETE":
                fake.evaluations[one[1]] |= {"state": "cancelled", "cancelRequestedAt": "2026-01-01T00:00:09.000Z"}
            self._answer(200, fake.evaluations[one[1]])

    def _head(self, sha256: str) -> None:
        fake = self.server.fake
        if sha256 in fake.checkpoints:
            return self._answer(200, None)
        upload = fake.uploads.get(sha256, Upload())
        return self._answer(404, None, {"upload-offset": str(len(upload.received))})

    def _keep(self, asked: Asked, partial: bool = False) -> None:
        fake = self.server.fake
        sha256 = asked.path.rpartition("/")[2]
        upload = fake.uploads.setdefault(sha256, Upload())
        if fake.forgets_bytes:
            return self._count(asked)
        begin, size = 0, len(asked.body)
        if found := re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", asked.headers.get("content-range", "")):
            begin, size = int(found[1]), int(found[3])
        elif found := re.fullmatch(r"bytes \*/(\d+)", asked.headers.get("content-range", "")):
            begin = size = int(found[1])
        if begin not in (0, len(upload.received)):
            return self._answer(
                422, problem(422, "upload.offset", f"{len(upload.received)} bytes have come"), {"upload-offset": str(len(upload.received))}
            )
        upload.received = (b"" if begin == 0 else upload.received) + asked.body
        if partial:
            return None
        if len(upload.received) < size:
            return self._answer(202, {"received": len(upload.received)}, {"upload-offset": str(len(upload.received))})
        del fake.uploads[sha256]
        if hashlib.sha256(upload.received).hexdigest() != sha256:
            return self._answer(422, problem(422, "checkpoint.digest", "the content has another digest; expected the one in its address"))
        fake.checkpoints[sha256] = upload.received
        return self._answer(201, {"sha256": sha256})

    def _count(self, asked: Asked) -> None:
        end, size = (int(text) for text in asked.headers["content-range"].split("-")[1].split("/"))
        self._answer(201 if end + 1 == size else 202, {})

    def _accept(self, asked: Asked) -> None:
        fake = self.server.fake
        key = asked.headers["idempotency-key"]
        if key not in fake.by_key:
            fake.by_key[key] = f"ev-{len(fake.by_key) + 1}"
            document, events = fake.next_evaluation(fake.by_key[key])
            fake.evaluations[fake.by_key[key]], fake.events[fake.by_key[key]] = document, events
        if isinstance(self.fault, DropAfterWork):
            return self._break()
        accepted = fake.evaluations[fake.by_key[key]]
        if fake.answers_at_once:
            return self._answer(200, accepted)
        return self._answer(202, accepted | {"state": "waiting", "startedAt": None, "endedAt": None, "summary": None})

    def _list(self, asked: Asked) -> None:
        fake = self.server.fake
        begin, limit = int(asked.query.get("after", "0")), int(asked.query["limit"])
        items = [{k: v for k, v in item.items() if k != "summary"} for item in fake.evaluations.values()]
        end = begin + limit
        self._answer(200, {"items": items[begin:end], "next": str(end) if end < len(items) else None})

    def _checkpoint(self, asked: Asked, sha256: str, grants: str | None, principal: str | None) -> None:
        if grants:
            self._grants(asked, sha256, principal)
        elif asked.method == "HEAD":
            self._head(sha256)
        else:
            self._keep(asked)

    def _grants(self, asked: Asked, sha256: str, principal: str | None) -> None:
        at = "2026-01-01T00:00:00.000Z"
        grant = {"sha256": sha256, "principal": principal or "eval-team", "grantedBy": "local", "at": at}
        self._answer(201 if asked.method == "POST" else 200, grant | asked.json if asked.method == "POST" else {"items": [grant]})

    def _pools(self, asked: Asked) -> None:
        pool: dict[str, Any] = {"name": "local", "min": 0, "max": 8, "warm": 1, "draining": False, "phase": "open", "waiting": 0}
        pool["sandboxes"] = {"creating": 0, "warming": 0, "idle": 2, "leased": 3, "destroying": 0}
        self._answer(200, {"items": [pool]} if asked.method == "GET" else pool | asked.json)

    def _events(self, id: str, after: int) -> None:
        events = [event for event in self.server.fake.events[id] if event["sequence"] > after]
        if not events:
            return self._answer(204, None)
        frames = (f"id: {e['sequence']}\nevent: {e['type']}\ndata: {json.dumps(e, ensure_ascii=False)}\n\n" for e in events)
        return self._stream("text/event-stream; charset=utf-8", (f": still here\n\n{frame}" for frame in frames))

    def _episodes(self, id: str, first: int) -> None:
        lines = (json.dumps(e, ensure_ascii=False) + "\n" for e in self.server.fake.episodes[id] if e["index"] >= first)
        self._stream("application/x-ndjson; charset=utf-8", lines)

    def _stream(self, content_type: str, items: Iterable[str]) -> None:
        self.send_response(200)
        self.send_header("content-type", content_type)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        left = self.fault.after_bytes if isinstance(self.fault, CutStream) else None
        for at, item in enumerate(items):
            if isinstance(self.fault, EndStream) and at == self.fault.after_items:
                break
            data = item.encode() if left is None else item.encode()[:left]
            if data:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
            if left is not None and (left := left - len(data)) == 0:
                return self._break()
        self.wfile.write(b"0\r\n\r\n")
        return None

    def _answer(self, status: int, document: Any, headers: dict[str, str] | None = None) -> None:
        body = b"" if document is None else json.dumps(document).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("content-type", "application/problem+json" if status >= 400 else "application/json")
            self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _break(self) -> None:
        self.wfile.flush()
        self.close_connection = True


class FakeHttpServer(ThreadingHTTPServer):
    daemon_threads = False
    block_on_close = True

    def __init__(self, fake: FakeMuster) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.fake = fake

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away in the middle is what some tests are about."""


@contextmanager
def serving(fake: FakeMuster) -> Iterator[str]:
    """The address of the server. All of its threads have ended when it is left: clients have to be closed by then."""
    server = FakeHttpServer(fake)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

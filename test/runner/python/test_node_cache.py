"""One copy of a checkpoint for all sandboxes of a node."""

import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from runner_process import RUNNER
from weights_server import Answered, WeightsServer

from muster_puller.command import BYTES, DIRECTORY, EXIT_USAGE, run
from muster_puller.patience import Patience

MEBIBYTE = 2**20
LATER = int(time.time()) + 3600


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Patience, "pause", lambda *_: None)


@pytest.fixture
def server() -> Iterator[WeightsServer]:
    with WeightsServer(b"").running() as running:
        yield running


class Node:
    """A node's cache, as Muster talks to it."""

    def __init__(self, root: Path, server: WeightsServer, most_bytes: int = 100 * MEBIBYTE) -> None:
        self.root = root
        self.server = server
        self.environment = {DIRECTORY: str(root), BYTES: str(most_bytes)}

    def order(self, content: bytes, holder: str = "muster-1", **changes: Any) -> dict[str, Any]:
        digest = hashlib.sha256(content).hexdigest()
        file = {"path": "policy.safetensors", "size": len(content), "sha256": digest, "url": self.server.url}
        hold = {"kind": "hold", "checkpoint": digest, "files": [file], "holder": holder, "until": LATER, "seconds": 60}
        return {**hold, **changes}

    def hold(self, content: bytes, holder: str = "muster-1", **changes: Any) -> dict[str, Any]:
        self.server.content = content
        answers = io.StringIO()
        assert run(io.BytesIO(json.dumps(self.order(content, holder, **changes)).encode()), answers, self.environment) == 0
        answer: dict[str, Any] = json.loads(answers.getvalue())
        return answer

    def start(self, order: dict[str, Any]) -> subprocess.Popen[str]:
        """In a process of its own."""
        program = [sys.executable, "-I", str(RUNNER / "pull.py")]
        process = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=self.environment)
        assert process.stdin
        process.stdin.write(json.dumps(order))
        process.stdin.close()
        return process

    def has(self, content: bytes) -> bool:
        path = self.root / "checkpoints" / hashlib.sha256(content).hexdigest() / "policy.safetensors"
        return path.is_file() and path.read_bytes() == content

    def holds(self) -> set[str]:
        return {path.name.split(".")[1] for path in (self.root / "holds").iterdir()}


@pytest.fixture
def node(tmp_path: Path, server: WeightsServer) -> Node:
    return Node(tmp_path, server)


def weights(number: int, size: int = MEBIBYTE) -> bytes:
    return hashlib.sha256(str(number).encode()).digest() * (size // 32)


def test_a_checkpoint_is_fetched_once_however_many_ask_for_it(node: Node) -> None:
    assert node.hold(weights(1)) == {"kind": "done", "received": MEBIBYTE, "deltas": 0, "fromBuckets": 0}
    assert node.hold(weights(1), "muster-2") == {"kind": "done", "received": 0, "deltas": 0, "fromBuckets": 0}
    assert node.has(weights(1))
    assert len(node.server.asked) == 1
    assert node.holds() == {"muster-1", "muster-2"}


def test_sandboxes_can_neither_list_nor_write_the_cache(node: Node) -> None:
    node.hold(weights(1))
    modes = {path.name: path.stat().st_mode & 0o777 for path in node.root.iterdir() if path.is_dir()}
    assert modes == {"checkpoints": 0o711, "records": 0o700, "holds": 0o700, "incoming": 0o700, "locks": 0o700}
    assert node.root.stat().st_mode & 0o777 == 0o711
    assert next((node.root / "checkpoints").glob("*/*")).stat().st_mode & 0o777 == 0o444


def test_eight_simultaneous_requests_fetch_a_checkpoint_once(node: Node) -> None:
    content = weights(1, 4 * MEBIBYTE)
    node.server.content = content
    processes = [node.start(node.order(content, f"muster-{i}")) for i in range(8)]
    received = []
    for process in processes:
        assert process.stdout
        with process.stdout:
            received.append(json.loads(process.stdout.read())["received"])
        assert process.wait(60) == 0
    assert sorted(received) == [0] * 7 + [len(content)]
    assert len(node.server.asked) == 1


def test_the_least_recently_used_checkpoint_makes_room(tmp_path: Path, server: WeightsServer) -> None:
    node = Node(tmp_path, server, most_bytes=3 * MEBIBYTE)
    for i in range(3):
        node.hold(weights(i), until=1)
        os.utime(node.root / "records" / f"{hashlib.sha256(weights(i)).hexdigest()}.json", (i, i))
    node.hold(weights(0), until=1)
    node.hold(weights(3), until=1)
    assert [node.has(weights(i)) for i in range(4)] == [True, False, True, True]


def test_a_checkpoint_in_use_stays_and_the_cache_reports_that_it_is_full(tmp_path: Path, server: WeightsServer) -> None:
    node = Node(tmp_path, server, most_bytes=2 * MEBIBYTE)
    node.hold(weights(1))
    node.hold(weights(2))
    refused = node.hold(weights(3), "muster-9")
    assert refused["code"] == "cache-full"
    assert BYTES in refused["message"]
    assert [node.has(weights(i)) for i in (1, 2, 3)] == [True, True, False]
    assert "muster-9" not in node.holds()


def test_a_released_checkpoint_makes_room(tmp_path: Path, server: WeightsServer) -> None:
    node = Node(tmp_path, server, most_bytes=2 * MEBIBYTE)
    node.hold(weights(1))
    node.hold(weights(2))
    assert node.hold(weights(3), releases=[hashlib.sha256(weights(1)).hexdigest()])["kind"] == "done"
    assert [node.has(weights(i)) for i in (1, 2, 3)] == [False, True, True]


def test_an_interrupted_fetch_is_taken_over_and_its_room_is_freed(tmp_path: Path, server: WeightsServer) -> None:
    node = Node(tmp_path, server, most_bytes=2 * MEBIBYTE)
    # A server that says nothing more: each request waits.
    server.content = weights(1)
    server.script = lambda number, _range: Answered(cut_after=1000) if number == 0 else Answered(status=503, headers={"Retry-After": "1"})
    killed = node.start(node.order(weights(1)))
    incoming = tmp_path / "incoming" / hashlib.sha256(weights(1)).hexdigest()
    deadline = time.monotonic() + 30
    while len(server.asked) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert incoming.is_dir()
    killed.send_signal(signal.SIGKILL)
    assert killed.stdout
    killed.stdout.close()
    killed.wait()
    server.script = lambda _number, _range: Answered()
    assert node.hold(weights(2, 2 * MEBIBYTE), releases=[hashlib.sha256(weights(1)).hexdigest()])["kind"] == "done"
    assert not incoming.exists()
    assert not node.has(weights(1))


def test_a_file_of_the_wrong_size_is_fetched_again(node: Node) -> None:
    node.hold(weights(1))
    path = next((node.root / "checkpoints").glob("*/*"))
    path.chmod(0o644)
    path.write_bytes(b"cut off")
    assert node.hold(weights(1))["received"] == MEBIBYTE
    assert node.has(weights(1))


def test_a_checkpoint_with_an_unreadable_record_is_fetched_again(node: Node) -> None:
    node.hold(weights(1))
    next((node.root / "records").iterdir()).write_text("[{")
    assert node.hold(weights(1))["received"] == MEBIBYTE
    assert node.has(weights(1))


def test_a_failed_fetch_leaves_nothing_and_holds_no_room(node: Node) -> None:
    node.server.script = lambda _number, _range: Answered(flip=5)
    assert node.hold(weights(1))["code"] == "digest"
    assert not node.has(weights(1))
    assert node.holds() == set()
    assert list((node.root / "incoming").iterdir()) == []


def test_a_container_without_a_cache_reports_what_is_missing(node: Node) -> None:
    node.environment = {}
    answer = node.hold(weights(1))
    assert answer["code"] == "settings"
    assert DIRECTORY in answer["message"]


def test_an_invalid_order_is_refused_with_its_field(node: Node, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = (({"holder": "../up"}, "order.holder"), ({"releases": ["x"]}, "order.releases[0]"), ({"until": -1}, "order.until"))
    for changes, part in wrong:
        text = json.dumps(node.order(weights(1), **changes)).encode()
        assert run(io.BytesIO(text), io.StringIO(), node.environment) == EXIT_USAGE
        assert part in capsys.readouterr().err

"""Fetching checkpoints: whole and verified, or not at all."""

import errno
import gc
import hashlib
import io
import json
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from runner_process import RUNNER
from weights_server import Answered, WeightsServer

from muster_puller.command import EXIT_USAGE, run
from muster_puller.directory import FetchedFiles, pull
from muster_puller.failure import PullError
from muster_puller.growing_file import GrowingFile
from muster_puller.order import PullOrder, parse_pull
from muster_puller.patience import Patience

WEIGHTS = bytes(range(251)) * 4000


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Patience, "pause", lambda *_: None)


@pytest.fixture
def server() -> Iterator[WeightsServer]:
    with WeightsServer(WEIGHTS).running() as running:
        yield running


def order(into: Path, url: str, content: bytes = WEIGHTS, **changes: Any) -> PullOrder:
    file = {"path": "policy.safetensors", "size": len(content), "sha256": hashlib.sha256(content).hexdigest(), "url": url, **changes}
    return parse_pull({"kind": "pull", "into": str(into), "files": [file], "seconds": 60})


def refusal(into: Path, url: str, **changes: Any) -> PullError:
    """The report of an order that fails; nothing is left of it."""
    with pytest.raises(PullError) as caught:
        pull(order(into, url, **changes))
    assert list(into.parent.iterdir()) == []
    return caught.value


def test_a_fetched_file_appears_read_only_in_its_directory(tmp_path: Path, server: WeightsServer) -> None:
    assert pull(order(tmp_path / "checkpoint", server.url)) == FetchedFiles(received=len(WEIGHTS), deltas=0)
    file = tmp_path / "checkpoint" / "policy.safetensors"
    assert file.read_bytes() == WEIGHTS
    assert file.stat().st_mode & 0o777 == 0o444
    assert [each.name for each in tmp_path.iterdir()] == ["checkpoint"]


def test_an_existing_file_is_not_fetched_again(tmp_path: Path, server: WeightsServer) -> None:
    pull(order(tmp_path / "checkpoint", server.url))
    assert pull(order(tmp_path / "checkpoint", server.url)) == FetchedFiles(received=0, deltas=0)
    assert len(server.asked) == 1


def test_a_directory_appears_with_all_its_files_and_an_empty_file_as_well(tmp_path: Path, server: WeightsServer) -> None:
    files = [
        {"path": path, "size": len(content), "sha256": hashlib.sha256(content).hexdigest(), "url": server.url}
        for path, content in (("a/weights.bin", WEIGHTS), ("b/weights.bin", WEIGHTS), ("empty", b""))
    ]
    pull(parse_pull({"kind": "pull", "into": str(tmp_path / "checkpoint"), "files": files, "seconds": 60}))
    found = {str(file.relative_to(tmp_path)): file.stat().st_size for file in tmp_path.rglob("*") if file.is_file()}
    assert found == {"checkpoint/a/weights.bin": len(WEIGHTS), "checkpoint/b/weights.bin": len(WEIGHTS), "checkpoint/empty": 0}


@pytest.mark.parametrize("tenth", range(1, 10))
def test_a_broken_connection_resumes_where_it_broke(tmp_path: Path, server: WeightsServer, tenth: int) -> None:
    cut = len(WEIGHTS) * tenth // 10
    server.script = lambda number, _range: Answered(cut_after=cut) if number == 0 else Answered()
    assert pull(order(tmp_path / "checkpoint", server.url)).received == len(WEIGHTS)
    assert server.asked[1]["range"] == f"bytes={cut}-"
    assert server.sent == len(WEIGHTS)
    assert (tmp_path / "checkpoint" / "policy.safetensors").read_bytes() == WEIGHTS


def test_a_server_without_ranges_sends_all_of_it_again(tmp_path: Path, server: WeightsServer) -> None:
    server.script = lambda number, _range: Answered(cut_after=1000) if number == 0 else Answered(body=WEIGHTS)
    pull(order(tmp_path / "checkpoint", server.url))
    assert (tmp_path / "checkpoint" / "policy.safetensors").read_bytes() == WEIGHTS


def test_a_flipped_bit_has_the_file_fetched_once_more(tmp_path: Path, server: WeightsServer) -> None:
    server.script = lambda number, _range: Answered(flip=77_777) if number == 0 else Answered()
    assert pull(order(tmp_path / "checkpoint", server.url)).received == 2 * len(WEIGHTS)
    assert (tmp_path / "checkpoint" / "policy.safetensors").read_bytes() == WEIGHTS


def test_a_file_that_is_damaged_each_time_leaves_nothing_and_is_named(tmp_path: Path, server: WeightsServer) -> None:
    server.script = lambda number, _range: Answered(flip=number)
    error = refusal(tmp_path / "checkpoint", server.url)
    assert error.code == "digest"
    assert "policy.safetensors" in str(error)
    assert hashlib.sha256(WEIGHTS).hexdigest() in str(error)


def test_a_file_of_another_size_is_reported_before_it_is_read(tmp_path: Path, server: WeightsServer) -> None:
    error = refusal(tmp_path / "checkpoint", server.url, size=len(WEIGHTS) + 1)
    assert error.code == "size"
    assert f"the server has {len(WEIGHTS)} bytes, expected {len(WEIGHTS) + 1}" in str(error)


def test_an_answer_shorter_than_announced_is_a_broken_connection(tmp_path: Path, server: WeightsServer) -> None:
    server.script = lambda _number, asked: Answered(body=b"short", said_length=len(WEIGHTS)) if not asked else Answered(status=500)
    assert refusal(tmp_path / "checkpoint", server.url).code == "unreachable"


def test_a_refusal_that_is_not_read_to_its_end_leaves_no_socket_open(tmp_path: Path, server: WeightsServer) -> None:
    server.script = lambda _number, _range: Answered(status=500)
    gc.collect()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ResourceWarning)
        refusal(tmp_path / "checkpoint", server.url)
        gc.collect()
    assert [str(each.message) for each in caught] == []


def test_a_range_that_begins_elsewhere_is_refused(tmp_path: Path, server: WeightsServer) -> None:
    elsewhere = Answered(status=206, body=b"x", headers={"Content-Range": "bytes 5-5/9"})
    server.script = lambda number, _range: Answered(cut_after=1000) if number == 0 else elsewhere
    assert refusal(tmp_path / "checkpoint", server.url).code == "size"


@pytest.mark.parametrize("status", [403, 404])
def test_a_refused_link_is_not_requested_again(tmp_path: Path, server: WeightsServer, status: int) -> None:
    server.script = lambda _number, _range: Answered(status=status, body=b"the link has expired\n")
    error = refusal(tmp_path / "checkpoint", server.url)
    assert error.code == "refused"
    assert f"{status} the link has expired" in str(error)
    assert "secret" not in str(error)
    assert len(server.asked) == 1


def test_a_busy_server_is_retried_as_long_as_there_is_time(tmp_path: Path, server: WeightsServer) -> None:
    busy = Answered(status=503, headers={"Retry-After": "1"})
    server.script = lambda number, _range: busy if number < 30 else Answered()
    pull(order(tmp_path / "checkpoint", server.url))
    assert len(server.asked) == 31


def test_a_server_that_fails_repeatedly_is_given_up(tmp_path: Path, server: WeightsServer) -> None:
    server.script = lambda _number, _range: Answered(status=500)
    assert refusal(tmp_path / "checkpoint", server.url).code == "unreachable"
    assert len(server.asked) == 8


def test_an_unreachable_address_is_reported_by_name(tmp_path: Path) -> None:
    with WeightsServer(b"").running() as gone:
        url = gone.url
    error = refusal(tmp_path / "checkpoint", url)
    assert error.code == "unreachable"
    assert "127.0.0.1" in str(error)
    assert "secret" not in str(error)


def test_a_full_disk_is_detected_before_anything_is_fetched(
    tmp_path: Path, server: WeightsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full)
    error = refusal(tmp_path / "checkpoint", server.url)
    assert error.code == "disk-full"
    assert "policy.safetensors" in str(error)
    assert server.asked == []


def test_a_disk_that_fills_during_a_fetch_leaves_nothing(tmp_path: Path, server: WeightsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def allocates_nothing(*_: object) -> None:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr("os.posix_fallocate", allocates_nothing)
    write = GrowingFile.write

    def failing(self: GrowingFile, piece: memoryview | bytes) -> None:
        if self.count > 500_000:
            raise PullError("disk-full", f"no space left for {self.path}")
        write(self, piece)

    monkeypatch.setattr(GrowingFile, "write", failing)
    assert refusal(tmp_path / "checkpoint", server.url).code == "disk-full"


def test_two_simultaneous_fetches_place_a_file_once(tmp_path: Path, server: WeightsServer) -> None:
    program = [sys.executable, "-I", str(RUNNER / "pull.py")]
    wanted = order(tmp_path / "checkpoint", server.url).files[0]
    file = {"path": str(wanted.path), "size": wanted.size, "sha256": wanted.sha256, "url": wanted.url}
    text = json.dumps({"kind": "pull", "into": str(tmp_path / "checkpoint"), "files": [file], "seconds": 60})
    both = [subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    answers = [json.loads(process.communicate(text, timeout=60)[0]) for process in both]
    assert [answer["kind"] for answer in answers] == ["done", "done"]
    assert [each.name for each in tmp_path.iterdir()] == ["checkpoint"]
    assert (tmp_path / "checkpoint" / "policy.safetensors").read_bytes() == WEIGHTS


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"into": "relative"}, "order.into"),
        ({"files": []}, "order.files is empty"),
        ({"seconds": 0}, "order.seconds"),
        ({"kind": "push"}, "order.kind"),
        ({"files": [{"path": "../up", "size": 1, "sha256": "0" * 64, "url": "http://x"}]}, "order.files[0].path"),
        ({"files": [{"path": "a", "size": 1, "sha256": "0" * 63, "url": "http://x"}]}, "order.files[0].sha256"),
        ({"more": 1}, 'unknown field "more"'),
    ],
)
def test_an_invalid_order_is_refused_with_its_field(
    changes: dict[str, Any], part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = {"kind": "pull", "into": "/tmp/x", "files": [{"path": "a", "size": 1, "sha256": "0" * 64, "url": "http://x"}], "seconds": 1}
    assert run(io.BytesIO(json.dumps({**whole, **changes}).encode()), io.StringIO()) == EXIT_USAGE
    assert part in capsys.readouterr().err


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://host/x", "http:///x", "http://[::1"])
def test_only_http_and_https_links_are_fetched(tmp_path: Path, url: str) -> None:
    assert refusal(tmp_path / "checkpoint", url).code == "url"


@pytest.fixture
def bucket() -> Iterator[WeightsServer]:
    with WeightsServer(WEIGHTS).running() as running:
        yield running


def test_a_checkpoint_of_a_bucket_is_fetched_from_the_bucket(tmp_path: Path, server: WeightsServer, bucket: WeightsServer) -> None:
    fetched = pull(order(tmp_path / "checkpoint", server.url, bucketUrl=bucket.url))
    assert fetched == FetchedFiles(received=len(WEIGHTS), deltas=0, from_buckets=1)
    assert (tmp_path / "checkpoint" / "policy.safetensors").read_bytes() == WEIGHTS
    assert server.asked == []


def test_a_broken_connection_to_a_bucket_resumes_at_the_bucket(tmp_path: Path, server: WeightsServer, bucket: WeightsServer) -> None:
    bucket.script = lambda number, _range: Answered(cut_after=1000) if number == 0 else Answered()
    assert pull(order(tmp_path / "checkpoint", server.url, bucketUrl=bucket.url)).from_buckets == 1
    assert bucket.asked[1]["range"] == "bytes=1000-"
    assert server.asked == []


@pytest.mark.parametrize(
    ("what", "answered"),
    [
        ("the link is not good there", Answered(status=403, body=b"expired")),
        ("the object is gone", Answered(status=404, body=b"NoSuchKey")),
        ("another object is there, of another size", Answered(body=WEIGHTS[1:])),
        ("another object is there, of the same size", Answered(flip=12)),
        ("it answers with errors", Answered(status=503, body=b"SlowDown")),
        ("it breaks off before the first byte", Answered(cut_after=0)),
    ],
)
def test_muster_sends_a_file_that_the_bucket_refuses(
    tmp_path: Path, server: WeightsServer, bucket: WeightsServer, what: str, answered: Answered
) -> None:
    bucket.script = lambda _number, _range: answered
    fetched = pull(order(tmp_path / "checkpoint", server.url, bucketUrl=bucket.url))
    assert fetched.from_buckets == 0, what
    assert (tmp_path / "checkpoint" / "policy.safetensors").read_bytes() == WEIGHTS
    assert len(bucket.asked) == 1


def test_an_unreachable_bucket_is_left_at_once(tmp_path: Path, server: WeightsServer) -> None:
    pull(order(tmp_path / "checkpoint", server.url, bucketUrl="http://127.0.0.1:1/absent"))
    assert (tmp_path / "checkpoint" / "policy.safetensors").read_bytes() == WEIGHTS


def test_a_file_that_muster_refuses_as_well_leaves_nothing_and_is_reported(
    tmp_path: Path, server: WeightsServer, bucket: WeightsServer
) -> None:
    bucket.script = server.script = lambda _number, _range: Answered(status=403, body=b"expired")
    assert refusal(tmp_path / "checkpoint", server.url, bucketUrl=bucket.url).code == "refused"
    assert [len(server.asked), len(bucket.asked)] == [1, 1]


def test_with_a_similar_file_muster_is_asked_for_a_delta_before_the_bucket_is(
    tmp_path: Path, server: WeightsServer, bucket: WeightsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = WEIGHTS * 2
    server.content = bucket.content = large
    server.script = lambda _number, _range: Answered(status=406, body=b"no delta")
    base = tmp_path / "held.safetensors"
    base.write_bytes(bytes(len(large)))
    file = {"path": "policy.safetensors", "size": len(large), "sha256": hashlib.sha256(large).hexdigest(), "url": server.url}
    held = {"sha256": hashlib.sha256(base.read_bytes()).hexdigest(), "path": str(base)}
    wanted = {**file, "bucketUrl": bucket.url}
    document = {"kind": "pull", "into": str(tmp_path / "into"), "files": [wanted], "seconds": 60, "bases": [held]}
    monkeypatch.setattr("muster_puller.delta_encoded_file.can_unpack", lambda: True)
    assert pull(parse_pull(document)) == FetchedFiles(received=len(large), deltas=0, from_buckets=1)
    assert [each.get("a-im") for each in server.asked] == ["muster-delta, identity;q=0"]

"""Bringing checkpoints to the server."""

import hashlib
import os
import subprocess
import tracemalloc
from pathlib import Path

import pytest

from muster_client import BadRequest, Checkpoint, Client, InvalidArgument, QuotaExceeded, ServerUnavailable, checkpoint, uploads
from tests.fake_server import FakeMuster, Upload
from tests.faults import Answer, Drop
from tests.samples import problem

PART = 1000
CHECKPOINTS = r"/v1/checkpoints/.*"


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "PART_BYTES", PART)


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    path = tmp_path / "policy.safetensors"
    path.write_bytes(bytes(range(256)) * 12)  # 3072 bytes: four parts
    return path


def digest_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_file_is_sent_in_parts_and_evaluated_by_its_digest(muster: Client, fake: FakeMuster, weights: Path) -> None:
    muster.evaluate(weights, "cartpole", run="ppo-1")
    assert fake.checkpoints == {digest_of(weights): weights.read_bytes()}
    puts = fake.requests("PUT", CHECKPOINTS)
    assert [asked.headers["content-range"] for asked in puts] == [
        "bytes 0-999/3072",
        "bytes 1000-1999/3072",
        "bytes 2000-2999/3072",
        "bytes 3000-3071/3072",
    ]
    assert {asked.query["name"] for asked in puts} == {"policy.safetensors"}
    assert fake.requests("POST", "/v1/evaluations")[0].json["checkpoint"] == {
        "sha256": digest_of(weights),
        "name": "policy.safetensors",
        "run": "ppo-1",
    }


def test_a_file_that_the_server_has_is_not_sent_again(muster: Client, fake: FakeMuster, weights: Path) -> None:
    assert muster.upload(weights) == digest_of(weights)
    asked = len(fake.asked)
    muster.submit(str(weights), "cartpole")
    head, post = fake.asked[asked:]
    assert (head.method, post.method) == ("HEAD", "POST")
    # The name says for which format the server has to have it.
    assert head.query == {"kind": "file", "name": "policy.safetensors"}


def test_a_small_file_travels_in_one_request(muster: Client, fake: FakeMuster, tmp_path: Path) -> None:
    (tmp_path / "tiny.onnx").write_bytes(b"tiny")
    (tmp_path / "empty.bin").write_bytes(b"")
    muster.upload(tmp_path / "tiny.onnx")
    muster.upload(tmp_path / "empty.bin")
    assert sorted(fake.checkpoints.values()) == [b"", b"tiny"]
    assert all("content-range" not in asked.headers for asked in fake.asked)


def test_an_upload_interrupted_at_40_percent_continues_from_there(muster: Client, fake: FakeMuster, weights: Path) -> None:
    fake.break_down("PUT", CHECKPOINTS, Drop(after_bytes=PART), Drop(after_bytes=229))
    muster.upload(weights)
    assert fake.checkpoints == {digest_of(weights): weights.read_bytes()}
    begins = [int(asked.headers["content-range"].split()[1].split("-")[0]) for asked in fake.requests("PUT", CHECKPOINTS)]
    assert begins == [0, 1000, 1229, 2229]


@pytest.mark.parametrize("after_bytes", [0, 1, 999, 1000])
def test_an_upload_interrupted_anywhere_arrives_whole(muster: Client, fake: FakeMuster, weights: Path, after_bytes: int) -> None:
    fake.break_down("PUT", CHECKPOINTS, *[Drop(after_bytes=after_bytes)] * 3)
    muster.upload(weights)
    assert fake.checkpoints == {digest_of(weights): weights.read_bytes()}


def test_a_lost_answer_to_the_last_part_is_found_by_asking_for_the_file(muster: Client, fake: FakeMuster, tmp_path: Path) -> None:
    small = tmp_path / "small.onnx"
    small.write_bytes(b"small")
    fake.break_down("PUT", CHECKPOINTS, Answer(503, problem(503, "store.unusable", "wait"), {"retry-after": "0"}))
    fake.checkpoints[digest_of(small)] = b"small"
    fake.break_down("HEAD", CHECKPOINTS, Answer(404, {}))
    muster.upload(small)
    assert len(fake.requests("PUT", CHECKPOINTS)) == 1
    assert len(fake.requests("HEAD", CHECKPOINTS)) == 2


def test_a_file_that_was_complete_before_the_server_was_killed_is_not_sent_again(muster: Client, fake: FakeMuster, weights: Path) -> None:
    fake.uploads[digest_of(weights)] = Upload(weights.read_bytes())
    muster.upload(weights)
    (put,) = fake.requests("PUT", CHECKPOINTS)
    assert (put.body, put.headers["content-range"]) == (b"", "bytes */3072")
    assert fake.checkpoints == {digest_of(weights): weights.read_bytes()}


def test_an_upload_that_another_client_has_advanced_continues_from_there(muster: Client, fake: FakeMuster, weights: Path) -> None:
    fake.uploads[digest_of(weights)] = Upload(weights.read_bytes()[:500])
    fake.break_down("HEAD", CHECKPOINTS, Answer(404, {}, {"upload-offset": "700"}))
    muster.upload(weights)
    assert fake.checkpoints == {digest_of(weights): weights.read_bytes()}


def test_a_directory_is_sent_file_by_file_then_named_by_its_manifest(muster: Client, fake: FakeMuster, tmp_path: Path) -> None:
    root = tmp_path / "policy"
    (root / "code").mkdir(parents=True)
    (root / "weights.bin").write_bytes(b"w" * 2500)
    (root / "code" / "a.py").write_text("a")
    (root / "code.py").write_text("b")
    (tmp_path / "elsewhere.txt").write_text("linked")
    (root / "ü.txt").symlink_to(tmp_path / "elsewhere.txt")
    command = "find -L . -type f -printf '%P\\0' | LC_ALL=C sort -z | xargs -0 sha256sum -- | sha256sum"
    expected = subprocess.run(command, shell=True, cwd=root, check=True, capture_output=True, text=True).stdout.split()[0]

    assert muster.upload(root) == expected
    assert set(fake.checkpoints.values()) >= {b"w" * 2500, b"a", b"b", b"linked"}
    assert hashlib.sha256(fake.checkpoints[expected]).hexdigest() == expected
    manifest = [asked for asked in fake.requests("PUT", CHECKPOINTS) if expected in asked.path]
    assert [asked.query for asked in manifest] == [{"kind": "manifest"}]

    asked = len(fake.asked)
    muster.upload(root)
    assert [a.method for a in fake.asked[asked:]] == ["HEAD"]


def test_an_onnx_model_brings_the_weights_that_its_exporter_wrote_beside_it(muster: Client, fake: FakeMuster, tmp_path: Path) -> None:
    (tmp_path / "policy.onnx").write_bytes(b"graph")
    (tmp_path / "policy.onnx.data").write_bytes(b"weights")
    (tmp_path / "other.onnx").write_bytes(b"whole")
    pair = tmp_path / "pair"
    pair.mkdir()
    for name in ("policy.onnx", "policy.onnx.data"):
        (pair / name).write_bytes((tmp_path / name).read_bytes())

    sent = muster.upload(tmp_path / "policy.onnx")
    assert sent == muster.upload(pair), "the name is that of a directory of the two"
    assert fake.checkpoints[sent].decode().split() == [
        *(digest_of(pair / "policy.onnx"), "policy.onnx"),
        *(digest_of(pair / "policy.onnx.data"), "policy.onnx.data"),
    ]
    assert muster.upload(tmp_path / "other.onnx") == digest_of(tmp_path / "other.onnx")


def test_a_file_that_changes_while_it_is_sent_is_refused(muster: Client, fake: FakeMuster, weights: Path) -> None:
    def overwrite() -> None:
        if fake.requests("PUT", CHECKPOINTS):
            weights.write_bytes(b"x" * 3072)

    fake.on_asked = overwrite
    with pytest.raises(BadRequest) as caught:
        muster.upload(weights)
    assert caught.value.code == "checkpoint.digest"
    assert fake.checkpoints == {}


def test_a_file_that_shrinks_while_it_is_sent_is_refused_by_name(muster: Client, fake: FakeMuster, weights: Path) -> None:
    fake.on_asked = lambda: os.truncate(weights, 10) if fake.requests("PUT", CHECKPOINTS) else None
    with pytest.raises(InvalidArgument, match=r"policy\.safetensors has become shorter"):
        muster.upload(weights)


def test_an_exceeded_storage_quota_is_raised_at_once(muster: Client, fake: FakeMuster, weights: Path) -> None:
    fake.break_down("PUT", CHECKPOINTS, Answer(429, problem(429, "quota.checkpoint-bytes", "3072 bytes more would come")))
    with pytest.raises(QuotaExceeded) as caught:
        muster.upload(weights)
    assert (caught.value.code, caught.value.retry_after) == ("quota.checkpoint-bytes", None)


def test_an_upload_ends_when_the_server_asks_for_a_longer_wait_than_patience_allows(
    muster: Client, fake: FakeMuster, weights: Path
) -> None:
    fake.break_down("PUT", CHECKPOINTS, Answer(503, problem(503, "store.full", "no room"), {"retry-after": "31"}))
    with pytest.raises(ServerUnavailable, match="no room") as caught:
        muster.upload(weights)
    assert caught.value.retry_after == 31


def test_memory_does_not_grow_with_the_checkpoint(
    muster: Client, fake: FakeMuster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "PART_BYTES", 2**20)
    large = tmp_path / "large.bin"
    with large.open("wb") as file:
        file.truncate(48 * 2**20)
    fake.forgets_bytes = True
    tracemalloc.start()
    try:
        muster.upload(large)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(fake.requests("PUT", CHECKPOINTS)) == 48
    assert peak < 12 * 2**20


@pytest.mark.parametrize("name", ["two\nlines.bin", "back\\slash.bin"])
def test_names_that_a_manifest_cannot_hold_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("x")
    with pytest.raises(InvalidArgument, match="rename it"):
        checkpoint.read_checkpoint(tmp_path)


def test_directories_that_lead_back_into_themselves_or_nowhere_are_refused(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path)
    with pytest.raises(InvalidArgument, match="leads back"):
        checkpoint.read_checkpoint(tmp_path)
    (tmp_path / "loop").unlink()
    with pytest.raises(InvalidArgument, match="has no files"):
        checkpoint.read_checkpoint(tmp_path)
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    with pytest.raises(InvalidArgument, match="is a broken link"):
        checkpoint.read_checkpoint(tmp_path)


def test_a_checkpoint_is_one_of_path_uri_and_digest() -> None:
    with pytest.raises(InvalidArgument, match="got none"):
        Checkpoint(run="r")
    with pytest.raises(InvalidArgument, match="got path and uri"):
        Checkpoint(path="a", uri="b")
    with pytest.raises(InvalidArgument, match=r"checkpoint\.path: it is empty"):
        checkpoint.normalize_checkpoint("")
    with pytest.raises(InvalidArgument, match="64 lower-case"):
        Checkpoint(sha256="ABC")
    with pytest.raises(InvalidArgument, match=r"checkpoint\.name: expected 1 to 255 characters"):
        Checkpoint(sha256="a" * 64, name="two\nlines")
    assert checkpoint.format_checkpoint(Checkpoint(path="runs/..", name="best"), "d") == {"sha256": "d", "name": "best"}
    assert checkpoint.format_checkpoint(Checkpoint(path="/"), "d") == {"sha256": "d"}
    assert checkpoint.normalize_checkpoint("a" * 64) == Checkpoint(sha256="a" * 64)
    assert checkpoint.normalize_checkpoint("gs://bucket/x", "r", 3) == Checkpoint(uri="gs://bucket/x", run="r", version=3)
    assert checkpoint.normalize_checkpoint("runs/x.onnx") == Checkpoint(path="runs/x.onnx")

"""Sending what differs from a checkpoint that the server has."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from muster_client import Checkpoint, Client, InvalidArgument, delta, uploads
from muster_client.checkpoint import LocalFile
from tests.fake_server import FakeMuster
from tests.faults import Answer
from tests.samples import problem

CHECKPOINTS = r"/v1/checkpoints/.*"
NUMBERS = 2**20


def safetensors(path: Path, tensors: dict[str, np.ndarray]) -> Path:
    header: dict[str, object] = {}
    end = 0
    for name, numbers in tensors.items():
        dtype = "BF16" if numbers.dtype == np.uint16 else "F32"
        header[name] = {"dtype": dtype, "shape": [len(numbers)], "data_offsets": [end, end + numbers.nbytes]}
        end += numbers.nbytes
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(numbers.tobytes() for numbers in tensors.values()))
    return path


def trained(numbers: np.ndarray, share: float) -> np.ndarray:
    """Some of the numbers, at random, are other ones."""
    random = np.random.default_rng(1)
    after = numbers.copy()
    changed = random.random(len(numbers)) < share
    after[changed] = random.integers(0, 2**16, int(changed.sum()), np.uint16)
    return after


@pytest.fixture
def run(tmp_path: Path) -> tuple[Path, Path]:
    """Two successive checkpoints of bf16, of which 1 % differs."""
    before = np.random.default_rng(0).integers(0, 2**16, NUMBERS, np.uint16)
    first = safetensors(tmp_path / "step-1.safetensors", {"w": before})
    return first, safetensors(tmp_path / "step-2.safetensors", {"w": trained(before, 0.01)})


def digest_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def local(path: Path) -> LocalFile:
    return LocalFile(path.name, path, path.stat().st_size, digest_of(path), path.stat().st_mtime_ns)


def test_the_next_checkpoint_is_sent_as_a_delta_of_the_previous_one(muster: Client, fake: FakeMuster, run: tuple[Path, Path]) -> None:
    first, second = run
    muster.upload(first)
    taken = Answer(201, {"sha256": digest_of(second), "kind": "file", "bytes": 1, "files": []})
    fake.break_down("PUT", CHECKPOINTS, taken)
    muster.upload(second)
    (put,) = [asked for asked in fake.requests("PUT", CHECKPOINTS) if asked.path.endswith(digest_of(second))]
    assert put.query == {"kind": "delta", "name": "step-2.safetensors"}
    assert len(put.body) < 0.04 * second.stat().st_size


def test_a_file_is_sent_whole_if_the_server_cannot_use_the_delta(muster: Client, fake: FakeMuster, run: tuple[Path, Path]) -> None:
    first, second = run
    muster.upload(first)
    fake.break_down("PUT", CHECKPOINTS, Answer(422, problem(422, "checkpoint.base", "it is not here any more")))
    muster.upload(second)
    assert fake.checkpoints[digest_of(second)] == second.read_bytes()


def test_no_delta_is_made_of_a_base_that_the_server_lacks(muster: Client, fake: FakeMuster, run: tuple[Path, Path]) -> None:
    first, second = run
    muster.submit(Checkpoint(path=second, base=first), "cartpole")
    assert fake.checkpoints == {digest_of(second): second.read_bytes()}
    assert all("kind" not in asked.query for asked in fake.requests("PUT", CHECKPOINTS))


def test_no_delta_is_made_of_a_base_that_has_changed(muster: Client, fake: FakeMuster, run: tuple[Path, Path]) -> None:
    first, second = run
    muster.upload(first)
    first.write_bytes(b"something else")
    muster.upload(second)
    assert all("kind" not in asked.query for asked in fake.requests("PUT", CHECKPOINTS))


def test_without_the_extra_everything_is_sent_whole(
    muster: Client, fake: FakeMuster, run: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delta, "is_available", lambda: False)
    for path in run:
        muster.upload(path)
    assert fake.checkpoints == {digest_of(path): path.read_bytes() for path in run}


def test_a_delta_that_is_not_smaller_than_the_file_is_not_used(tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    files = [safetensors(tmp_path / f"{i}.safetensors", {"w": random.integers(0, 2**16, NUMBERS, np.uint16)}) for i in range(2)]
    assert delta.encode_difference(local(files[0]), local(files[1])) is None


def test_a_file_with_a_false_header_is_sent_whole(muster: Client, fake: FakeMuster, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.safetensors", "b.safetensors")]
    for i, path in enumerate(files):
        path.write_bytes((2**60).to_bytes(8, "little") + bytes([i]) * uploads.PART_BYTES)
        muster.upload(path)
    assert fake.checkpoints.keys() == {digest_of(path) for path in files}


def test_a_base_without_a_path_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="beside path"):
        Checkpoint(sha256="0" * 64, base="step-1.safetensors")


def test_an_interrupted_upload_of_a_delta_continues(muster: Client, fake: FakeMuster, run: tuple[Path, Path]) -> None:
    first, second = run
    muster.upload(first)
    fake.break_down("PUT", CHECKPOINTS, Answer(201, {"sha256": digest_of(second), "kind": "file", "bytes": 1, "files": []}))
    muster.upload(second)
    heads = [asked.query for asked in fake.requests("HEAD", CHECKPOINTS) if asked.path.endswith(digest_of(second))]
    assert heads[-1] == {"kind": "delta", "name": "step-2.safetensors"}

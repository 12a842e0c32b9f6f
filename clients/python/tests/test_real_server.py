"""Checks against `muster serve` itself that it answers as in the samples that the other tests use."""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from muster_client import (
    BadRequest,
    Checkpoint,
    Client,
    ComparisonSummary,
    Completed,
    NotFound,
    Retry,
    Running,
    Timeout,
    server_version,
    uploads,
)
from muster_client.effects import Request
from muster_client.settings import VERSION
from tests.real_server import GAME, REPOSITORY, RealServer
from tests.test_deltas import safetensors
from tests.test_training_loop import SAMPLE, Loop, run

CAN_SERVE = "CI" in os.environ or ((REPOSITORY / "node_modules").exists() and shutil.which("bwrap") is not None)
pytestmark = pytest.mark.skipif(not CAN_SERVE, reason="no node_modules or no bubblewrap: see scripts/setup.mjs")

CHECKPOINTS = GAME / "checkpoints"
EARLY, MIDDLE, LATE = (Checkpoint(uri=str(CHECKPOINTS / f"{name}.safetensors"), run="game") for name in ("early", "middle", "late"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    with RealServer(tmp_path_factory.mktemp("muster")) as server:
        yield server


@pytest.fixture
def client(server: RealServer) -> Iterator[Client]:
    with Client(server.url, retry=Retry(patience_seconds=60)) as client:
        yield client


def test_a_checkpoint_is_evaluated_and_every_form_of_the_answer_can_be_read(client: Client) -> None:
    answer = client.evaluate(LATE, "cartpole", stop={"rule": "fixed", "episodes": 20}, labels={"a": "b"}, version=7)
    assert (answer.episodes, answer.suite, answer.satisfied) == (20, "cartpole", True)
    assert answer.interval is not None
    (item,) = client.list(run="game", state="finished", label=("a", "b"))
    assert (item.version, item.summary) == (7, None)
    found = client.get(item.id)
    assert found.summary == answer
    assert [event.data["state"] for event in client.events(item.id) if event.type == "state"] == ["waiting", "running", "finished"]
    episodes = list(client.episodes(item.id, first=15))
    assert [episode.index for episode in episodes] == [15, 16, 17, 18, 19]
    assert all(isinstance(episode.outcome, Completed) for episode in episodes)
    assert [pool.name for pool in client.pools()] == ["local"]
    known = client.suite("cartpole")
    assert (known.name, known.digest[:7], known.template) == ("cartpole", "sha256:", "local")


def test_a_server_of_another_version_answers_after_a_warning(
    server: RealServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    declared = json.loads((REPOSITORY / "package.json").read_text())["version"]
    for version, warned in ((declared, 0), ("0.0.7", 1)):
        monkeypatch.setattr(server_version, "VERSION", version)
        with Client(server.url) as client:
            assert [pool.name for pool in client.pools()] == ["local"]
            client.pools()
        assert [f"is Muster {declared}, and this client is {version}; " in message for message in caplog.messages] == [True] * warned
    assert declared == VERSION


def test_a_checkpoint_that_was_sent_is_granted_to_others(client: Client) -> None:
    sha256 = client.upload(GAME / "checkpoints" / "late.safetensors")
    assert client.grant(sha256, "eval-team").granted_by == "local"
    assert [grant.principal for grant in client.grants(sha256)] == ["eval-team"]
    assert [grant.principal for grant in client.revoke_grant(sha256, "eval-team")] == ["eval-team"]
    assert client.grants(sha256) == []


def test_a_comparison_has_its_verdict(client: Client) -> None:
    answer = client.evaluate(LATE, "cartpole", baseline=MIDDLE)
    assert isinstance(answer, ComparisonSummary)
    assert answer.verdict == "promote"
    assert answer.candidates[0].interval is not None
    assert answer.candidates[0].interval.low > 0


def test_a_suite_is_sent_with_the_exact_text_of_its_file(client: Client) -> None:
    assert client.evaluate(LATE, GAME / "cartpole.yaml", stop={"rule": "fixed", "episodes": 4}).episodes == 4


def test_an_invalid_field_is_named_as_the_server_names_it(client: Client) -> None:
    with pytest.raises(BadRequest) as field:
        client.evaluate(LATE, "cartpole", stop={"rule": "fixed", "episodes": -1})
    assert (field.value.code, field.value.path) == ("request.invalid", "body.stop.episodes")
    assert field.value.expected == "a number of 2 or more"
    with pytest.raises(BadRequest, match="it has cartpole"):
        client.evaluate(LATE, "pong")
    with pytest.raises(NotFound) as missing:
        client.report("ev-none")
    assert missing.value.code == "evaluation.not-found"


def test_a_cancelled_evaluation_has_ended(client: Client) -> None:
    with pytest.raises(Timeout) as late:
        client.evaluate(EARLY, "cartpole", stop={"rule": "fixed", "episodes": 100_000}, cache=False, timeout=0.1)
    client.cancel(late.value.evaluation_id)
    *_, last = client.events(late.value.evaluation_id)
    assert last.data == {"state": "cancelled"}


def test_an_evaluation_has_the_same_answer_after_the_server_is_killed_and_restarted(server: RealServer, client: Client) -> None:
    kills: list[int] = []

    def kill_once(running: Running) -> None:
        if not kills:
            kills.append(running.episodes)
            server.kill_and_start_anew()

    stop = {"rule": "fixed", "episodes": 1000}
    disturbed = client.evaluate(EARLY, "cartpole", stop=stop, cache=False, progress=kill_once)
    assert kills
    assert kills[0] < 1000
    assert disturbed.official == client.evaluate(EARLY, "cartpole", stop=stop, cache=False).official


def test_weights_are_sent_only_once(client: Client) -> None:
    path = CHECKPOINTS / "late.safetensors"
    digest = client.upload(path)
    assert client.evaluate(path, "cartpole", stop={"rule": "fixed", "episodes": 4}).checkpoint == f"sha256:{digest}"


@pytest.mark.parametrize("loop", SAMPLE)
def test_a_training_loop_receives_the_progress_of_its_evaluation(loop: Loop, server: RealServer, tmp_path: Path) -> None:
    done = run(loop, server.url, tmp_path, updates=2)
    assert done.returncode == 1, done.stderr
    assert done.stdout.count("episodes") == 2


@pytest.mark.parametrize(
    ("name", "dtype", "share"),
    [
        ("bf16.safetensors", np.uint16, 0.01),
        ("fp32.safetensors", np.float32, 0.001),
        ("half.safetensors", np.uint16, 0.3),
        ("some.bin", np.uint8, 0.0001),
    ],
)
def test_a_delta_yields_the_identical_file_on_the_server(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, dtype: type, share: float
) -> None:
    """The server keeps no file whose digest differs from that of the whole."""
    random = np.random.default_rng(list(name.encode()))
    before: np.ndarray = random.integers(0, 256, 3 * 2**20 + 4, np.uint8).view(dtype)
    after = before.copy()
    changed = random.random(len(before)) < share
    after[changed] = random.permutation(after[changed])[::-1]
    paths = []
    for directory, numbers in (("1", before), ("2", after)):
        (tmp_path / directory).mkdir()
        path = tmp_path / directory / name
        if name.endswith(".bin"):
            path.write_bytes(numbers.tobytes() + b"end")
        else:
            safetensors(path, {"first": numbers[:100], "w": numbers[100:], "empty": numbers[:0]})
        paths.append(path)
    sent: list[str] = []

    def noted(sha256: str, query: dict[str, str], begin: int, part: bytes, size: int) -> Request:
        sent.append(query.get("kind", "file"))
        return part_request(sha256, query, begin, part, size)

    part_request = uploads._build_part_request
    monkeypatch.setattr(uploads, "_build_part_request", noted)
    for path in paths:
        assert client.upload(path) == hashlib.sha256(path.read_bytes()).hexdigest()
    assert sent == ["file", "delta"]

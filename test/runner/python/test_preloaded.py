"""What is loaded before sandboxes are forked: data of any principal, code only of trusted ones."""

import os
import resource
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from checkpoints import constant_layer, file_digest, write_directory, write_mlp
from gymnasium import spaces

from muster_runner import loading_bounds, preloaded
from muster_runner.carried_code import find, forget, visit
from muster_runner.policies.checkpoint import Fit
from muster_runner.preloaded import find_preloaded, preload_code, preload_policy
from muster_runner.refusal import PolicyRefusal

LEFT = "preloaded_code_ran_here"
LEAVES_A_MARK = f"import sys; sys.{LEFT} = True\n"


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is preloaded, and modules that a test imports are forgotten after it."""
    monkeypatch.setattr(preloaded, "_preloaded", {})
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]
    if hasattr(sys, LEFT):
        delattr(sys, LEFT)


def code_has_run() -> bool:
    return hasattr(sys, LEFT)


def mlp_bytes(directory: Path) -> bytes:
    return write_mlp(directory / "for-its-bytes.safetensors", constant_layer(1, [0.0, 1.0]))[0].read_bytes()


def describing(file: str) -> str:
    return f'{{"policy": {{"file": "{file}"}}}}'


def test_a_policy_is_found_by_its_digest_and_plays(tmp_path: Path) -> None:
    path, digest = write_mlp(tmp_path / "p.safetensors", constant_layer(1, [0.0, 1.0]))
    preload_policy(path, digest, trusted=False)
    found = find_preloaded(digest)
    assert found is not None
    box = spaces.Box(-1.0, 1.0, (1,), np.float32)
    policy = found.fit(Fit(box, spaces.Discrete(2), True))
    policy.reset(0)
    assert policy.act(np.zeros(1, np.float32)) == 1
    assert find_preloaded(digest.replace(digest[-1], "0" if digest[-1] != "0" else "1")) is None


def test_a_preload_reports_its_memory_and_time(tmp_path: Path) -> None:
    path, digest = write_mlp(tmp_path / "p.safetensors", constant_layer(1, [0.0, 1.0]))
    cost = preload_policy(path, digest, trusted=False)
    assert 0 < cost.seconds < 60
    assert cost.own_bytes >= 0


def test_a_preload_reports_the_memory_that_it_took(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, digest = write_mlp(tmp_path / "p.safetensors", constant_layer(1, [0.0, 1.0]))
    kept: list[bytes] = []
    read = preloaded.read_checkpoint

    def reads(path: Path) -> object:
        kept.append(b"\1" * (64 << 20))
        return read(path)

    monkeypatch.setattr(preloaded, "read_checkpoint", reads)
    assert preload_policy(path, digest, trusted=False).own_bytes > 60 << 20


def test_a_policy_that_takes_far_more_memory_than_its_size_is_left_to_the_sandboxes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, digest = write_mlp(tmp_path / "p.safetensors", constant_layer(1, [0.0, 1.0]))
    read = preloaded.read_checkpoint
    limits = [resource.getrlimit(limit) for limit in (resource.RLIMIT_DATA, resource.RLIMIT_CPU)]

    def swells(path: Path) -> object:
        bytes(2 << 30)
        return read(path)

    monkeypatch.setattr(preloaded, "read_checkpoint", swells)
    with pytest.raises(MemoryError):
        preload_policy(path, digest, trusted=False)
    assert find_preloaded(digest) is None
    assert [resource.getrlimit(limit) for limit in (resource.RLIMIT_DATA, resource.RLIMIT_CPU)] == limits


def test_a_policy_that_does_not_finish_loading_ends_its_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, digest = write_mlp(tmp_path / "p.safetensors", constant_layer(1, [0.0, 1.0]))
    monkeypatch.setattr(loading_bounds, "_PROCESSOR_SECONDS", 1)
    monkeypatch.setattr(preloaded, "read_checkpoint", lambda _path: sum(iter(int, 1)))
    pid = os.fork()
    if pid == 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        preload_policy(path, digest, trusted=False)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == signal.SIGXCPU


def test_a_process_that_has_preloaded_nothing_finds_no_policy() -> None:
    assert find_preloaded("sha256:any") is None


def test_a_policy_with_another_digest_than_its_name_is_refused(tmp_path: Path) -> None:
    path, digest = write_mlp(tmp_path / "p.safetensors", constant_layer(1, [0.0, 1.0]))
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(PolicyRefusal, match="it changed or was not copied whole"):
        preload_policy(path, digest, trusted=True)
    assert find_preloaded(digest) is None


def test_an_unreadable_file_with_another_digest_is_reported_as_another_file(tmp_path: Path) -> None:
    path, digest = write_mlp(tmp_path / "p.safetensors", constant_layer(1, [0.0, 1.0]))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(PolicyRefusal, match="it changed or was not copied whole"):
        preload_policy(path, digest, trusted=False)
    with pytest.raises(PolicyRefusal, match="not an intact safetensors file"):
        preload_policy(path, file_digest(path), trusted=False)


def test_a_verification_that_fails_otherwise_verifies_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, digest = write_mlp(tmp_path / "p.safetensors", constant_layer(1, [0.0, 1.0]))

    def broken(_path: Path) -> str:
        raise MemoryError("no memory to hash with")

    monkeypatch.setattr("muster_runner.digest.compute_digest", broken)
    with pytest.raises(MemoryError, match="no memory to hash with"):
        preload_policy(path, digest, trusted=False)
    assert find_preloaded(digest) is None


@pytest.mark.parametrize("name", ["policy.pt", "policy.ts", "policy.py", "policy"])
def test_a_file_that_is_not_only_data_is_refused_unless_it_is_trusted(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"whatever")
    with pytest.raises(PolicyRefusal, match=f"{name} is not data alone"):
        preload_policy(path, file_digest(path), trusted=False)


def test_a_directory_counts_as_data_if_it_describes_only_data(tmp_path: Path) -> None:
    path, digest = write_directory(tmp_path / "d", {"muster.json": describing("p.safetensors"), "p.safetensors": mlp_bytes(tmp_path)})
    preload_policy(path, digest, trusted=False)
    assert find_preloaded(digest) is not None


CARRIED = {"muster.json": '{"policy": {"entry": "brought:make"}}', "brought.py": LEAVES_A_MARK + "def make(**_): ..."}


def test_a_directory_with_code_of_a_policy_is_refused_unless_it_is_trusted(tmp_path: Path) -> None:
    path, digest = write_directory(tmp_path / "d", dict(CARRIED))
    with pytest.raises(PolicyRefusal, match="is not data alone"):
        preload_policy(path, digest, trusted=False)
    assert not code_has_run()
    assert str(path) not in sys.path
    preload_policy(path, digest, trusted=True)
    assert find_preloaded(digest) is not None
    assert code_has_run()
    assert "brought" not in sys.modules
    visited = visit(path)
    assert "brought" in sys.modules
    forget(visited)


@pytest.mark.parametrize("name", ["onnxruntime", "safetensors", "numpy"])
def test_code_beside_data_does_not_replace_a_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The libraries that read the data are imported when it is read: they must not be looked for in the checkpoint."""
    monkeypatch.delitem(sys.modules, "onnxruntime", raising=False)
    files: dict[str, str | bytes] = {"muster.json": describing("p.onnx"), "p.onnx": b"no model", f"{name}.py": LEAVES_A_MARK}
    path, digest = write_directory(tmp_path / "d", files)
    with pytest.raises(PolicyRefusal):
        preload_policy(path, digest, trusted=False)
    assert not code_has_run()
    assert str(path) not in sys.path


def test_preloaded_code_of_a_suite_is_found_by_the_first_visit(tmp_path: Path) -> None:
    write_directory(tmp_path, {"maze.py": LEAVES_A_MARK + "from maze_walls import WALLS", "maze_walls.py": "WALLS = 4"})
    preload_code(tmp_path, ["maze"])
    assert code_has_run()
    visited = visit(tmp_path)
    try:
        assert sys.modules["maze"].WALLS == 4
        assert "maze_walls" in sys.modules
    finally:
        forget(visited)
    visited = visit(tmp_path)
    try:
        assert "maze" not in sys.modules
    finally:
        forget(visited)


def test_code_of_a_suite_does_not_replace_a_module_that_was_imported_since(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_directory(tmp_path, {"maze.py": "WALLS = 4"})
    preload_code(tmp_path, ["maze"])
    installed = ModuleType("maze")
    monkeypatch.setitem(sys.modules, "maze", installed)
    visited = visit(tmp_path)
    assert sys.modules["maze"] is installed
    forget(visited)
    assert sys.modules["maze"] is installed


def test_code_of_a_suite_is_not_found_by_another_suite(tmp_path: Path) -> None:
    write_directory(tmp_path / "one", {"maze.py": "WALLS = 4"})
    write_directory(tmp_path / "other", {"maze.py": "WALLS = 5"})
    preload_code(tmp_path / "one", ["maze"])
    visited = visit(tmp_path / "other")
    try:
        assert find("maze:WALLS.bit_length", tmp_path / "other")() == 3
        assert sys.modules["maze"].WALLS == 5
    finally:
        forget(visited)
    assert str(tmp_path / "one") not in sys.path


def test_code_of_a_suite_that_cannot_be_imported_reports_the_reason(tmp_path: Path) -> None:
    write_directory(tmp_path, {"maze.py": "raise ValueError('no exit')"})
    with pytest.raises(ValueError, match="no exit"):
        preload_code(tmp_path, ["maze"])

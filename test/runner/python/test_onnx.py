"""Policies as ONNX models."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from checkpoints import file_digest, write_onnx
from onnx import TensorProto, helper, numpy_helper
from runner_process import RunnerProcess, environment, episodes

MOVED = {"low": [-2.0, 0.0], "high": [4.0, 1.0]}


@pytest.fixture(scope="module")
def runner() -> Iterator[RunnerProcess]:
    """One for all tests here: each loads its own checkpoint in place of the former."""
    with RunnerProcess() as process:
        yield process.ready()


@pytest.mark.parametrize("batch", [1, "batch"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_first_output_is_the_logits(runner: RunnerProcess, tmp_path: Path, dtype: Any, batch: int | str) -> None:
    weight = np.random.default_rng(3).normal(size=(5, 4)).astype(dtype)
    policy = write_onnx(tmp_path / "p.onnx", weight, np.zeros(5, dtype), batch=batch)
    observations = np.random.default_rng(4).normal(size=(10, 4)).astype(np.float32).tolist()
    runner.load(*policy, *(environment("toys:Chosen", observation=o, actions=5) for o in observations))
    outcomes = runner.play([(i, i, 0, 0) for i in range(10)])
    expected = [float((weight @ np.array(o, np.float32)).argmax()) for o in observations]
    assert [outcome["return"] for outcome in outcomes] == expected
    assert len(set(expected)) > 1


def test_stochastic_actions_follow_the_softmax(runner: RunnerProcess, tmp_path: Path) -> None:
    policy = write_onnx(tmp_path / "p.onnx", np.zeros((2, 1), np.float32), np.array([0, math.log(3)], np.float32))
    runner.load(*policy, environment("toys:Chosen"), actions="stochastic")
    outcomes = runner.play(episodes(2000))
    assert np.mean([outcome["return"] for outcome in outcomes]) == pytest.approx(0.75, abs=0.04)
    assert [outcome["return"] for outcome in runner.play(episodes(2000))] == [outcome["return"] for outcome in outcomes]


def test_a_second_output_named_log_std_is_the_spread(runner: RunnerProcess, tmp_path: Path) -> None:
    muster = {"action": {"kind": "continuous", "squash": "none"}}
    policy = write_onnx(
        tmp_path / "p.onnx", np.zeros((2, 1), np.float32), np.array([1, -2], np.float32), [math.log(0.5), math.log(3)], muster
    )
    runner.load(*policy, environment("toys:Moved", **MOVED), actions="stochastic", metrics=["a0", "a1"])
    drawn = np.array([list(outcome["metrics"].values()) for outcome in runner.play(episodes(2000))])
    assert drawn.std(axis=0) == pytest.approx([0.5, 3.0], rel=4 / math.sqrt(4000))


def test_without_metadata_continuous_outputs_are_clipped(runner: RunnerProcess, tmp_path: Path) -> None:
    policy = write_onnx(tmp_path / "p.onnx", np.zeros((2, 1), np.float32), np.array([9, 0.25], np.float32))
    runner.load(*policy, environment("toys:Moved", **MOVED), metrics=["a0", "a1"])
    assert runner.play(episodes(1))[0]["metrics"] == {"a0": 4.0, "a1": 0.25}


def test_the_metadata_may_hold_the_normalisation(runner: RunnerProcess, tmp_path: Path) -> None:
    muster = {"action": {"kind": "continuous", "squash": "none"}, "observation": {"mean": [3, 0], "variance": [4, 0]}}
    policy = write_onnx(tmp_path / "p.onnx", np.eye(2, dtype=np.float32), np.zeros(2, np.float32), muster=muster)
    runner.load(*policy, environment("toys:Moved", observation=[4.0, 1.0], **MOVED), metrics=["a0", "a1"])
    assert runner.play(episodes(1))[0]["metrics"] == pytest.approx({"a0": 0.5, "a1": 10.0}, abs=1e-6)


BLOCKS: list[dict[str, Any] | None] = [None, {"form": "lockstep", "width": 2, "episodes": 2, "episodeSeconds": 60}]


@pytest.mark.parametrize("batching", BLOCKS, ids=["single", "lockstep"])
def test_images_reach_a_model_that_takes_bytes_unchanged(runner: RunnerProcess, tmp_path: Path, batching: dict[str, Any] | None) -> None:
    """The model finds the first pixel's value among 256 options."""
    changes = {} if batching is None else {"batching": batching}
    answer = runner.load(*write_image_model(tmp_path / "p.onnx"), *(environment("toys:Picture", bright=b) for b in (7, 255)), **changes)
    assert answer["type"] == "loaded"
    assert [outcome["return"] for outcome in runner.play([(0, 0, 0, 0), (1, 1, 0, 0)])] == [7.0, 255.0]


def write_image_model(path: Path, muster: dict[str, Any] | None = None) -> tuple[Path, str]:
    constants = {"options": np.arange(256, dtype=np.float32)[None], "first": np.array([0]), "one": np.array([1]), "flat": np.array([-1, 4])}
    nodes = [
        helper.make_node("Cast", ["observation"], ["numbers"], to=TensorProto.FLOAT),
        helper.make_node("Reshape", ["numbers", "flat"], ["pixels"]),
        helper.make_node("Slice", ["pixels", "first", "one", "one"], ["pixel"]),
        helper.make_node("Sub", ["pixel", "options"], ["apart"]),
        helper.make_node("Abs", ["apart"], ["distance"]),
        helper.make_node("Neg", ["distance"], ["output"]),
    ]
    graph = helper.make_graph(
        nodes,
        "policy",
        [helper.make_tensor_value_info("observation", TensorProto.UINT8, ["batch", 2, 2, 1])],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, ["batch", 256])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    helper.set_model_props(model, {} if muster is None else {"muster": json.dumps(muster)})
    onnx.save(model, path)
    return path, file_digest(path)


def test_a_model_that_takes_bytes_is_refused_for_other_observations(runner: RunnerProcess, tmp_path: Path) -> None:
    assert "the model takes uint8, and the environment gives Box" in refusal(runner, write_image_model(tmp_path / "p.onnx"))


def test_bytes_cannot_be_normalised(runner: RunnerProcess, tmp_path: Path) -> None:
    policy = write_image_model(tmp_path / "p.onnx", {"observation": {"mean": [0], "variance": [1]}})
    answer = runner.load(*policy, environment("toys:Picture", bright=7))
    assert "uint8, which cannot be normalised before" in answer["message"]


def refusal(runner: RunnerProcess, policy: tuple[Path, str], entry: str = "gymnasium:CartPole-v1", **changes: Any) -> str:
    kwargs = MOVED if entry == "toys:Moved" else {}
    answer = runner.load(*policy, environment(entry, **kwargs), **changes)
    assert (answer["type"], answer["part"]) == ("refused", "policy")
    message: str = answer["message"]
    return message


def test_a_model_for_other_observations_is_refused(runner: RunnerProcess, tmp_path: Path) -> None:
    policy = write_onnx(tmp_path / "p.onnx", np.zeros((2, 6), np.float32), np.zeros(2, np.float32))
    assert refusal(runner, policy) == 'the model takes 6 numbers, the environment gives 4 (task "task-0")'


def test_a_model_for_other_actions_is_refused(runner: RunnerProcess, tmp_path: Path) -> None:
    policy = write_onnx(tmp_path / "p.onnx", np.zeros((3, 4), np.float32), np.zeros(3, np.float32))
    assert "the model gives 3 outputs, the action space Discrete(2) needs 2" in refusal(runner, policy)


def test_stochastic_continuous_actions_without_log_std_are_refused(runner: RunnerProcess, tmp_path: Path) -> None:
    policy = write_onnx(tmp_path / "p.onnx", np.zeros((2, 1), np.float32), np.zeros(2, np.float32))
    assert 'a second output "log_std"' in refusal(runner, policy, "toys:Moved", actions="stochastic")


def test_a_fixed_batch_of_several_is_refused(runner: RunnerProcess, tmp_path: Path) -> None:
    policy = write_onnx(tmp_path / "p.onnx", np.zeros((2, 4), np.float32), np.zeros(2, np.float32), batch=8)
    assert "expected [1, n] or [batch, n]" in refusal(runner, policy)


def test_metadata_with_a_misspelt_field_is_refused(runner: RunnerProcess, tmp_path: Path) -> None:
    policy = write_onnx(tmp_path / "p.onnx", np.zeros((2, 4), np.float32), np.zeros(2, np.float32), muster={"actions": {}})
    assert 'p.onnx: muster has an unknown field "actions"' in refusal(runner, policy)


def test_a_file_that_is_no_model_is_refused(runner: RunnerProcess, tmp_path: Path) -> None:
    path = tmp_path / "p.onnx"
    path.write_bytes(b"no model")
    assert "p.onnx is not an intact ONNX model" in refusal(runner, (path, file_digest(path)))

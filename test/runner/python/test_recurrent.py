"""Recurrent networks: what they remember belongs to one row, and to one episode of it.

The networks count their steps and choose the action of that number, so an episode of n steps returns 0 + 1 + … + (n − 1).
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from checkpoints import file_digest
from onnx import TensorProto, helper, numpy_helper
from runner_process import Frame, RunnerProcess, environment
from test_torchscript import needs_torch
from torch_scripts import TorchScripts

Policy = tuple[Path, str]
EPISODES = [(i, 0, 1 + i, 500 + i) for i in range(24)]
LOCKSTEP: Frame = {"form": "lockstep", "width": 3, "episodes": 12, "episodeSeconds": 60}
VECTOR: Frame = {"form": "vector", "width": 12, "episodes": 12, "episodeSeconds": 60}


@pytest.fixture(scope="module")
def runner() -> Iterator[RunnerProcess]:
    """One for all tests here: each loads its own checkpoint in place of the former."""
    with RunnerProcess() as process:
        yield process.ready()


def write_counter(
    path: Path,
    state: list[Any],
    names: tuple[str, str] = ("h_in", "h_out"),
    muster: dict[str, Any] | None = None,
    batch: int | str = "batch",
    grows: bool = False,
) -> Policy:
    """@param state: the shape of what it remembers, [layers, batch, 1]."""
    before, after = names
    constants = {
        "one": np.ones((1, 1, 1), np.float32),
        "options": np.arange(16, dtype=np.float32)[None],
        "layer": np.array([0]),
        "wide": np.array([1, 1, 2]),
    }
    nodes = [
        helper.make_node("Add", [before, "one"], ["more" if grows else after]),
        helper.make_node("Squeeze", [before, "layer"], ["count"]),
        helper.make_node("Sub", ["count", "options"], ["apart"]),
        helper.make_node("Abs", ["apart"], ["distance"]),
        helper.make_node("Neg", ["distance"], ["logits"]),
    ]
    if grows:
        nodes.append(helper.make_node("Tile", ["more", "wide"], [after]))
    graph = helper.make_graph(
        nodes,
        "policy",
        [
            helper.make_tensor_value_info("observation", TensorProto.FLOAT, [batch, 1]),
            helper.make_tensor_value_info(before, TensorProto.FLOAT, state),
        ],
        [
            helper.make_tensor_value_info(after, TensorProto.FLOAT, None if grows else state),
            helper.make_tensor_value_info("logits", TensorProto.FLOAT, [batch, 16]),
        ],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    helper.set_model_props(model, {} if muster is None else {"muster": json.dumps(muster)})
    onnx.save(model, path)
    return path, file_digest(path)


def counted(runner: RunnerProcess, policy: Policy, batching: Frame | None) -> Frame:
    """Plays episodes of several lengths, and holds each return against its length. @returns the answer to the load frame."""
    entry = "vector_toys:remembered" if batching is not None and batching["form"] == "vector" else "toys:Remembered"
    answer = runner.load(*policy, environment(entry), **({} if batching is None else {"batching": batching}))
    assert answer["type"] == "loaded", answer
    outcomes = runner.play(EPISODES)
    lengths = [outcome["length"] for outcome in outcomes]
    assert len(set(lengths)) > 4
    assert [outcome["return"] for outcome in outcomes] == [n * (n - 1) / 2 for n in lengths]
    return answer


@pytest.mark.parametrize("batching", [None, LOCKSTEP, VECTOR], ids=["single", "lockstep", "vector"])
def test_each_row_keeps_the_state_of_its_own_episode_only(
    runner: RunnerProcess, tmp_path: Path, batching: Frame | None
) -> None:
    assert "warnings" not in counted(runner, write_counter(tmp_path / "p.onnx", [1, "batch", 1]), batching)


@pytest.mark.parametrize("batching", [None, LOCKSTEP], ids=["single", "lockstep"])
def test_metadata_names_the_state_if_tensor_names_do_not(
    runner: RunnerProcess, tmp_path: Path, batching: Frame | None
) -> None:
    muster = {"state": {"h": "next"}, "action": {"kind": "discrete"}}
    counted(runner, write_counter(tmp_path / "p.onnx", [1, "batch", 1], ("h", "next"), muster), batching)


def test_a_recurrent_model_for_one_row_plays_rows_one_by_one(runner: RunnerProcess, tmp_path: Path) -> None:
    answer = counted(runner, write_counter(tmp_path / "p.onnx", [1, 1, 1]), LOCKSTEP)
    (warning,) = answer["warnings"]
    assert warning.startswith("the model takes one observation at a time")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"names": ("h", "next")}, "p.onnx has 2 inputs beside its state (observation, h), expected one: the observation"),
        ({"muster": {"state": {"c": "h_out"}}}, "muster.state has c, expected an input of the model: observation, h_in"),
        ({"muster": {"state": {"h_in": "c"}}}, "muster.state.h_in is c, expected an output of the model: h_out, logits"),
        ({"muster": {"state": ["h_in"]}}, "muster.state is"),
        ({"state": ["layers", "rows", 1]}, "expected one free dimension: the batch"),
        ({"grows": True}, "the model takes a state of shape (1, 1) and gives one of (1, 2), expected the same"),
    ],
)
def test_an_unsupported_state_is_refused(runner: RunnerProcess, tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    policy = write_counter(tmp_path / "p.onnx", **({"state": [1, "batch", 1]} | changes))
    answer = runner.load(*policy, environment("toys:Remembered"))
    assert (answer["type"], answer["part"]) == ("refused", "policy")
    assert message in answer["message"]


SCRIPT = """
import sys, torch
from typing import Tuple

class Counter(torch.nn.Module):
    def forward(self, observation, count):
        return -(count[0] - torch.arange(16)).abs(), count + 1

    @torch.jit.export
    def initial_state(self, rows: int):
        return torch.zeros({shape})

torch.jit.save(torch.jit.script(Counter()), sys.argv[1])
"""


def write_script(torch_scripts: TorchScripts, path: Path, shape: str) -> Policy:
    torch_scripts.check(SCRIPT.format(shape=shape), path)
    return path, file_digest(path)


@needs_torch
@pytest.mark.parametrize("batching", [None, LOCKSTEP], ids=["single", "lockstep"])
def test_a_torchscript_model_gives_its_initial_state(
    torch_runner: RunnerProcess, torch_scripts: TorchScripts, tmp_path: Path, batching: Frame | None
) -> None:
    assert "warnings" not in counted(torch_runner, write_script(torch_scripts, tmp_path / "p.pt", "1, rows, 1"), batching)


@needs_torch
def test_a_torchscript_model_whose_state_has_no_rows_is_refused(
    torch_runner: RunnerProcess, torch_scripts: TorchScripts, tmp_path: Path
) -> None:
    answer = torch_runner.load(*write_script(torch_scripts, tmp_path / "p.pt", "1, 1, 1"), environment("toys:Remembered"))
    assert (answer["type"], answer["part"]) == ("refused", "policy")
    assert "initial_state gives the shape (1, 1, 1) for one row and (1, 1, 1) for two, expected a dimension of rows" in answer["message"]

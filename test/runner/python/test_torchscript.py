"""Policies as TorchScript models, played by a Python that has torch."""

import json
import math
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints import file_digest
from runner_process import RunnerProcess, environment, episodes
from torch_scripts import TORCH_PYTHON, TorchScripts

MOVED = {"low": [-2.0, 0.0], "high": [4.0, 1.0]}

needs_torch = pytest.mark.skipif(
    not TORCH_PYTHON.exists() and "CI" not in os.environ,
    reason="no .venv-torch: a Python with torch, gymnasium and safetensors",
)

EXPORT = """
import json, sys, torch

class Constant(torch.nn.Module):
    def __init__(self, outputs, log_std):
        super().__init__()
        self.linear = torch.nn.Linear({inputs}, len(outputs)).to(torch.{dtype})
        with torch.no_grad():
            self.linear.weight.zero_()
            self.linear.bias.copy_(torch.tensor(outputs))
        self.log_std = torch.nn.Parameter(torch.tensor([log_std or outputs], dtype=torch.{dtype}))

    def forward(self, observation):
        {forward}

model = Constant({outputs}, {log_std})
extra = {{"muster.json": {muster!r}}} if {muster!r} else {{}}
torch.jit.save(torch.jit.script(model), sys.argv[1], _extra_files=extra)
"""


def write_torchscript(
    torch_scripts: TorchScripts,
    path: Path,
    outputs: list[float],
    log_std: list[float] | None = None,
    muster: Any = None,
    inputs: int = 1,
    dtype: str = "float32",
    one_row: bool = False,
) -> tuple[Path, str]:
    seen = f"observation.reshape(1, {inputs})" if one_row else "observation"
    forward = f"return self.linear({seen}), self.log_std" if log_std else f"return self.linear({seen})"
    text = json.dumps(muster) if muster else ""
    source = EXPORT.format(forward=forward, outputs=outputs, log_std=log_std, muster=text, inputs=inputs, dtype=dtype)
    torch_scripts.check(source, path)
    return path, file_digest(path)


@needs_torch
@pytest.mark.parametrize(("name", "dtype"), [("p.pt", "float32"), ("p.ts", "float64")])
def test_the_output_is_the_logits(torch_runner: RunnerProcess, torch_scripts: TorchScripts, tmp_path: Path, name: str, dtype: str) -> None:
    policy = write_torchscript(torch_scripts, tmp_path / name, [0.1, 0.5, 0.2], dtype=dtype)
    assert torch_runner.load(*policy, environment("toys:Chosen", actions=3))["digest"] == policy[1]
    assert torch_runner.play(episodes(1))[0]["return"] == 1.0


@needs_torch
def test_a_second_output_is_the_spread(torch_runner: RunnerProcess, torch_scripts: TorchScripts, tmp_path: Path) -> None:
    muster = {"action": {"kind": "continuous", "squash": "none"}}
    policy = write_torchscript(torch_scripts, tmp_path / "p.pt", [1.0, -2.0], [math.log(0.5), math.log(3)], muster)
    torch_runner.load(*policy, environment("toys:Moved", **MOVED), actions="stochastic", metrics=["a0", "a1"])
    outcomes = torch_runner.play(episodes(1000))
    drawn = np.array([list(outcome["metrics"].values()) for outcome in outcomes])
    assert drawn.std(axis=0) == pytest.approx([0.5, 3.0], rel=4 / math.sqrt(2000))
    assert [outcome["metrics"] for outcome in torch_runner.play(episodes(10))] == [outcome["metrics"] for outcome in outcomes[:10]]


BLOCKS = {"form": "lockstep", "width": 4, "episodes": 8, "episodeSeconds": 60}


@needs_torch
@pytest.mark.parametrize("actions", ["deterministic", "stochastic"])
def test_rows_are_computed_together(torch_runner: RunnerProcess, torch_scripts: TorchScripts, tmp_path: Path, actions: str) -> None:
    muster = {"action": {"kind": "continuous", "squash": "none"}}
    policy = write_torchscript(torch_scripts, tmp_path / "p.pt", [1.0, -2.0], [math.log(0.5), math.log(3)], muster)
    task = environment("toys:Moved", **MOVED)
    torch_runner.load(*policy, task, actions=actions, metrics=["a0", "a1"])
    expected = [outcome["metrics"] for outcome in torch_runner.play(episodes(16))]
    assert "warnings" not in torch_runner.load(*policy, task, actions=actions, metrics=["a0", "a1"], batching=BLOCKS)
    found = [outcome["metrics"] for outcome in torch_runner.play(episodes(16))]
    assert [list(metrics.values()) for metrics in found] == [pytest.approx(list(metrics.values()), abs=1e-5) for metrics in expected]


@needs_torch
def test_a_model_for_one_row_takes_rows_one_by_one(
    torch_runner: RunnerProcess, torch_scripts: TorchScripts, tmp_path: Path
) -> None:
    policy = write_torchscript(torch_scripts, tmp_path / "p.pt", [0.1, 0.5, 0.2], one_row=True)
    answer = torch_runner.load(*policy, environment("toys:Chosen", actions=3), batching=BLOCKS)
    assert answer["warnings"] == ["the model fails on a batch of two observations (RuntimeError): rows are played one by one"]
    assert [outcome["return"] for outcome in torch_runner.play(episodes(8))] == [1.0] * 8


@needs_torch
def test_a_model_for_other_observations_is_refused(torch_runner: RunnerProcess, torch_scripts: TorchScripts, tmp_path: Path) -> None:
    policy = write_torchscript(torch_scripts, tmp_path / "p.pt", [0.0, 1.0], inputs=6)
    answer = torch_runner.load(*policy, environment("gymnasium:CartPole-v1"))
    assert (answer["type"], answer["part"]) == ("refused", "policy")
    assert "the model fails on an observation of shape (1, 4)" in answer["message"]


@needs_torch
def test_a_file_that_is_no_model_is_refused(torch_runner: RunnerProcess, tmp_path: Path) -> None:
    path = tmp_path / "p.pt"
    path.write_bytes(b"no model")
    answer = torch_runner.load(path, file_digest(path), environment("toys:Toy"))
    assert "p.pt is not an intact TorchScript model" in answer["message"]


def test_without_torch_the_refusal_names_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise ImportError('no torch here')")
    path = tmp_path / "p.pt"
    path.write_bytes(b"whatever")
    with RunnerProcess() as runner:
        # A suite's own module of that name stands for a Python without torch, whether this one has it or not.
        answer = runner.ready().load(path, file_digest(path), environment("toys:Toy"), code=str(tmp_path))
    assert answer["part"] == "policy"
    assert f"install it there: {sys.executable} -m pip install torch, or export the policy to ONNX or safetensors" in answer["message"]

"""Policies as Keras models, written and read by the real Keras."""

import json
import math
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints import file_digest
from runner_process import REPOSITORY, RUNNER, RunnerProcess, environment, episodes

KERAS_PYTHON = REPOSITORY / ".venv-keras" / "bin" / "python"
needs_keras = pytest.mark.skipif(not KERAS_PYTHON.exists(), reason="no .venv-keras: a Python with Keras, TensorFlow and gymnasium")
MOVED = {"low": [-2.0, 0.0], "high": [4.0, 1.0]}

# Saves what each line asks for: Keras takes seconds to be imported.
WRITER = """
import json, os, sys
os.environ["KERAS_BACKEND"] = "tensorflow"
import keras, numpy as np
def constant(outputs, log_std=None, inputs=1, dtype="float32"):
    taken = keras.Input((inputs,), dtype=dtype)
    def layer(values):
        made = keras.layers.Dense(len(values), dtype=dtype)
        result = made(taken)
        made.set_weights([np.zeros((inputs, len(values))), np.array(values)])
        return result
    return keras.Model(taken, layer(outputs) if log_std is None else [layer(outputs), layer(log_std)])
for line in sys.stdin:
    path, model = json.loads(line)
    eval(model).save(path)
    print("saved", flush=True)
"""


class Writer:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def write(self, path: Path, model: str, muster: Any = None) -> tuple[Path, str]:
        """@param model: an expression. @returns the path and the digest."""
        assert self._process.stdin and self._process.stdout
        print(json.dumps([str(path), model]), file=self._process.stdin, flush=True)
        assert self._process.stdout.readline() == "saved\n"
        if muster is not None:
            with zipfile.ZipFile(path, "a") as archive:
                archive.writestr("muster.json", json.dumps(muster))
        return path, file_digest(path)


@pytest.fixture(scope="module")
def writer() -> Iterator[Writer]:
    with subprocess.Popen([KERAS_PYTHON, "-c", WRITER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Writer(process)


@pytest.fixture(scope="module")
def runner() -> Iterator[RunnerProcess]:
    with RunnerProcess(command=(KERAS_PYTHON, "-I", RUNNER)) as process:
        yield process.ready()


@needs_keras
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_output_is_the_logits(runner: RunnerProcess, writer: Writer, tmp_path: Path, dtype: str) -> None:
    policy = writer.write(tmp_path / "p.keras", f"constant([0.1, 0.5, 0.2], dtype='{dtype}')")
    answer = runner.load(*policy, environment("toys:Chosen", actions=3))
    assert (answer["type"], answer.get("digest")) == ("loaded", policy[1]), answer
    assert runner.play(episodes(1))[0]["return"] == 1.0


@needs_keras
def test_a_second_output_is_the_spread(runner: RunnerProcess, writer: Writer, tmp_path: Path) -> None:
    model = f"constant([1.0, -2.0], [{math.log(0.5)}, {math.log(3)}])"
    policy = writer.write(tmp_path / "p.keras", model, {"action": {"kind": "continuous", "squash": "none"}})
    runner.load(*policy, environment("toys:Moved", **MOVED), actions="stochastic", metrics=["a0", "a1"])
    outcomes = runner.play(episodes(500))
    drawn = np.array([list(outcome["metrics"].values()) for outcome in outcomes])
    assert drawn.std(axis=0) == pytest.approx([0.5, 3.0], rel=4 / math.sqrt(1000))
    assert [outcome["metrics"] for outcome in runner.play(episodes(10))] == [outcome["metrics"] for outcome in outcomes[:10]]


@needs_keras
@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            "keras.Sequential([keras.Input((4,)), keras.layers.Lambda(lambda x: x[:, :2])])",
            "cannot be loaded as a Keras model of data alone",
        ),
        ("constant([0.0, 1.0], inputs=6)", "the model takes 6 numbers, the environment gives 4"),
        ("constant([0.0, 1.0, 2.0], inputs=4)", "the model gives 3 outputs"),
        ("keras.Sequential([keras.Input((4,), dtype='int32'), keras.layers.Embedding(3, 2)])", "takes int32, expected float32 or float64"),
    ],
)
def test_a_model_that_cannot_be_played_is_refused(runner: RunnerProcess, writer: Writer, tmp_path: Path, model: str, message: str) -> None:
    answer = runner.load(*writer.write(tmp_path / "p.keras", model), environment("gymnasium:CartPole-v1"))
    assert (answer["type"], answer["part"]) == ("refused", "policy")
    assert message in answer["message"]


@needs_keras
def test_a_file_that_is_no_model_is_refused(runner: RunnerProcess, tmp_path: Path) -> None:
    path = tmp_path / "p.keras"
    path.write_bytes(b"no model")
    answer = runner.load(path, file_digest(path), environment("toys:Toy"))
    assert "p.keras: it is not an intact archive" in answer["message"]


def test_without_keras_the_refusal_names_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "keras").mkdir()
    (tmp_path / "keras" / "__init__.py").write_text("raise ImportError('no keras here')")
    path = tmp_path / "p.keras"
    with zipfile.ZipFile(path, "w"):
        pass
    with RunnerProcess() as runner:
        # A suite's own module of that name stands for a Python without Keras, whether this one has it or not.
        answer = runner.ready().load(path, file_digest(path), environment("toys:Toy"), code=str(tmp_path))
    assert answer["part"] == "policy"
    install = f"install it there: {sys.executable} -m pip install keras tensorflow"
    assert f"{install} (torch or jax do as well as tensorflow), or export the policy to ONNX" in answer["message"]

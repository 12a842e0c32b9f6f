"""Policies as PyTorch state dicts, written and read by the real torch."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints import architecture, file_digest, outputs_of, random_layers
from runner_process import REPOSITORY, RUNNER, RunnerProcess, environment, episodes

TORCH_PYTHON = REPOSITORY / ".venv-torch" / "bin" / "python"
pytestmark = pytest.mark.skipif(not TORCH_PYTHON.exists(), reason="no .venv-torch: a Python with torch, gymnasium and safetensors")

# Saves what each line asks for: torch takes seconds to be imported.
WRITER = """
import collections, json, os, sys
import numpy as np, torch
class Evil:
    def __init__(self, path):
        self.path = path
    def __reduce__(self):
        return (os.system, ("touch " + self.path + ".ran",))
for line in sys.stdin:
    path, numbers, architecture, saved = json.loads(line)
    tensors = {name: torch.from_numpy(value) for name, value in np.load(numbers).items()}
    torch.save(eval(saved), path)
    print("saved", flush=True)
"""


class Writer:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def write(self, path: Path, saved: str, tensors: dict[str, Any]) -> tuple[Path, str]:
        """@param saved: an expression. @returns the path and the digest."""
        numbers = path.with_suffix(".npz")
        np.savez(numbers, **tensors)
        assert self._process.stdin and self._process.stdout
        print(json.dumps([str(path), str(numbers), architecture(tensors), saved]), file=self._process.stdin, flush=True)
        assert self._process.stdout.readline() == "saved\n"
        return path, file_digest(path)


@pytest.fixture(scope="module")
def writer() -> Iterator[Writer]:
    with subprocess.Popen([TORCH_PYTHON, "-c", WRITER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Writer(process)


@pytest.fixture(scope="module")
def runner() -> Iterator[RunnerProcess]:
    with RunnerProcess(command=(TORCH_PYTHON, "-I", RUNNER)) as process:
        yield process.ready()


@pytest.mark.parametrize("name", ["p.pth", "p.pt"])
@pytest.mark.parametrize("python", [TORCH_PYTHON, Path(sys.executable)])
def test_a_whole_module_is_refused_as_one_whether_there_is_torch_or_not(writer: Writer, tmp_path: Path, name: str, python: Path) -> None:
    policy = writer.write(tmp_path / name, "torch.nn.Sequential(torch.nn.Linear(4, 2))", random_layers(4, 2))
    with RunnerProcess(command=(python, "-I", RUNNER)) as runner:
        answer = runner.ready().load(*policy, environment("toys:Chosen"))
    assert answer["type"] == "refused"
    assert "holds a whole object of torch.nn.modules.container.Sequential, as torch.save(module) writes it" in answer["message"]
    assert "save module.state_dict() with its architecture, as muster.save_policy of the package muster-eval does" in answer["message"]
    assert "pip install" not in answer["message"]


@pytest.mark.parametrize("name", ["p.pth", "p.pt"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "saved",
    [
        '{"muster": architecture, "state_dict": collections.OrderedDict(tensors), "epoch": 7}',
        '{**tensors, "muster": json.dumps(architecture)}',
    ],
)
def test_it_is_played_as_the_same_network_is(
    runner: RunnerProcess, writer: Writer, tmp_path: Path, name: str, dtype: Any, saved: str
) -> None:
    tensors = random_layers(4, 32, 5, dtype=dtype)
    policy = writer.write(tmp_path / name, saved, tensors)
    observations = np.random.default_rng(1).normal(size=(20, 4)).astype(np.float32).tolist()
    tasks = [environment("toys:Chosen", observation=observation, actions=5) for observation in observations]
    answer = runner.load(*policy, *tasks)
    assert (answer["type"], answer.get("digest")) == ("loaded", policy[1]), answer
    expected = [float(outputs_of(tensors, np.array(o, np.float32).astype(dtype)).argmax()) for o in observations]
    assert [outcome["return"] for outcome in runner.play([(i, i, 0, 0) for i in range(20)])] == expected


def test_pickled_code_is_refused_and_does_not_run(runner: RunnerProcess, writer: Writer, tmp_path: Path) -> None:
    path, digest = writer.write(tmp_path / "p.pth", '{**tensors, "muster": architecture, "more": Evil(path)}', random_layers(1, 2))
    answer = runner.load(path, digest, environment("toys:Toy"))
    assert (answer["type"], answer["part"]) == ("refused", "policy")
    assert "p.pth holds more than tensors and plain values, and reading that would run its code" in answer["message"]
    assert "posix.system" in answer["message"]
    assert not Path(f"{path}.ran").exists()


@pytest.mark.parametrize(
    ("saved", "message"),
    [
        ("tensors", "muster.save_policy of the package muster-eval writes it"),
        ("tensors", 'there is no "muster" beside the tensors'),
        ('{"muster": architecture}', 'there is no tensor "l0.weight"; there are none'),
        ('{"muster": {**architecture, "activation": "gelu"}, **tensors}', "muster.activation is"),
        ('{"muster": architecture, **{name: value.half() for name, value in tensors.items()}}', "is torch.float16, expected torch.float32"),
        ('{"muster": architecture, **{name: value * float("nan") for name, value in tensors.items()}}', "numbers that are not finite"),
        ('{"muster": architecture, **{name: value[None] for name, value in tensors.items()}}', "expected 2 dimensions"),
        ("[1, 2]", "what torch.save has saved is"),
    ],
)
def test_what_is_wrong_with_it_is_named(runner: RunnerProcess, writer: Writer, tmp_path: Path, saved: str, message: str) -> None:
    policy = writer.write(tmp_path / "p.pth", saved, random_layers(4, 2))
    answer = runner.load(*policy, environment("gymnasium:CartPole-v1"))
    assert (answer["type"], answer["part"]) == ("refused", "policy")
    assert message in answer["message"]


@pytest.mark.parametrize("keep", [0, 10, 500, -1])
def test_a_damaged_file_is_refused(runner: RunnerProcess, writer: Writer, tmp_path: Path, keep: int) -> None:
    path, _ = writer.write(tmp_path / "p.pth", '{**tensors, "muster": architecture}', random_layers(4, 2))
    path.write_bytes(path.read_bytes()[:keep])
    answer = runner.load(path, file_digest(path), environment("gymnasium:CartPole-v1"))
    assert (answer["type"], answer["part"]) == ("refused", "policy"), answer
    assert "p.pth is not an intact file of torch.save" in answer["message"] or "p.pth holds more than" in answer["message"]
    assert runner.load(path, file_digest(path), environment("toys:Toy"))["type"] == "refused"


def test_it_gives_the_same_returns_as_the_same_tensors_in_safetensors(runner: RunnerProcess, writer: Writer, tmp_path: Path) -> None:
    from checkpoints import write_mlp

    tensors = random_layers(4, 16, 2)
    played = []
    for policy in (
        writer.write(tmp_path / "p.pth", '{**tensors, "muster": architecture}', tensors),
        write_mlp(tmp_path / "p.safetensors", tensors),
    ):
        runner.load(*policy, environment("gymnasium:CartPole-v1"), actions="stochastic")
        played.append([outcome["return"] for outcome in runner.play(episodes(20))])
    assert played[0] == played[1]


SAVER = """
import json, sys
import torch
from muster.save_policy import save_policy
torch.manual_seed(3)
policy = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 8), torch.nn.ReLU(), torch.nn.Linear(8, 5))
mean, variance = torch.tensor([1.0, 0, -1, 2]), torch.tensor([1.0, 4, 0.25, 9])
name, kind = sys.argv[1:]
given = {"tensors": (mean, variance), "arrays": (mean.double().numpy(), variance.numpy()), "lists": (mean.tolist(), variance.tolist())}
save_policy(policy, name, {"kind": "discrete"}, normalisation=given[kind])
observations = torch.randn(20, 4)
normalised = ((observations - mean) / torch.sqrt(variance + 1e-8)).clip(-10, 10)
print(json.dumps([observations.tolist(), policy(normalised).argmax(1).tolist()]))
"""


def saved_by(script: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    client = {"PYTHONPATH": str(REPOSITORY / "clients/python/src")}
    return subprocess.run([TORCH_PYTHON, "-c", script, *arguments], env=client, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", ["p.pth", "p.safetensors"])
@pytest.mark.parametrize("statistics", ["tensors", "arrays", "lists"])
def test_what_save_policy_saves_is_played_as_torch_computes_it(
    runner: RunnerProcess, tmp_path: Path, name: str, statistics: str
) -> None:
    path = tmp_path / name
    saved = saved_by(SAVER, str(path), statistics)
    assert saved.returncode == 0, saved.stderr
    observations, actions = json.loads(saved.stdout)
    answer = runner.load(path, file_digest(path), *[environment("toys:Chosen", observation=each, actions=5) for each in observations])
    assert answer["type"] == "loaded", answer
    assert [outcome["return"] for outcome in runner.play([(i, i, 0, 0) for i in range(len(observations))])] == actions
    assert [each.name for each in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    "layers",
    [
        "torch.nn.Linear(4, 2), torch.nn.Linear(2, 2)",
        "torch.nn.Linear(4, 2), torch.nn.GELU(), torch.nn.Linear(2, 2)",
        "torch.nn.Linear(4, 2), torch.nn.Tanh(), torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 2)",
        "torch.nn.Linear(4, 2), torch.nn.Tanh()",
        "torch.nn.Linear(4, 2, bias=False)",
    ],
)
def test_save_policy_refuses_what_it_cannot_describe(tmp_path: Path, layers: str) -> None:
    script = f"import sys, torch; from muster.save_policy import save_policy; save_policy(torch.nn.Sequential({layers}), sys.argv[1], {{}})"
    saved = saved_by(script, str(tmp_path / "p.pth"))
    assert "ValueError: expected" in saved.stderr
    assert list(tmp_path.iterdir()) == []

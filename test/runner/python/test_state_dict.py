"""Policies as PyTorch state dicts, written and read by the real torch."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints import architecture, file_digest, outputs_of, random_layers
from runner_process import RunnerProcess, environment, episodes
from torch_scripts import TORCH_PYTHON, TorchScripts

pytestmark = pytest.mark.skipif(not TORCH_PYTHON.exists(), reason="no .venv-torch: a Python with torch, gymnasium and safetensors")

# The saved value is given as an expression of the tensors and of the architecture that describes them.
SAVE = """
import collections, json, os, sys
import numpy as np, torch
class Evil:
    def __init__(self, path):
        self.path = path
    def __reduce__(self):
        return (os.system, ("touch " + self.path + ".ran",))
path, numbers, architecture, saved = sys.argv[1:]
architecture = json.loads(architecture)
tensors = {name: torch.from_numpy(value) for name, value in np.load(numbers).items()}
torch.save(eval(saved), path)
"""

Write = Callable[[Path, str, dict[str, Any]], tuple[Path, str]]


@pytest.fixture
def write(torch_scripts: TorchScripts) -> Write:
    """Saves an expression. @returns the path and the digest."""

    def save(path: Path, saved: str, tensors: dict[str, Any]) -> tuple[Path, str]:
        numbers = path.with_suffix(".npz")
        np.savez(numbers, **tensors)
        torch_scripts.check(SAVE, path, numbers, json.dumps(architecture(tensors)), saved)
        return path, file_digest(path)

    return save


@pytest.mark.parametrize("name", ["p.pth", "p.pt"])
@pytest.mark.parametrize("with_torch", [True, False])
def test_a_pickled_module_is_refused_as_such_with_and_without_torch(
    runner: RunnerProcess, torch_runner: RunnerProcess, write: Write, tmp_path: Path, name: str, with_torch: bool
) -> None:
    policy = write(tmp_path / name, "torch.nn.Sequential(torch.nn.Linear(4, 2))", random_layers(4, 2))
    answer = (torch_runner if with_torch else runner).load(*policy, environment("toys:Chosen"))
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
def test_a_state_dict_acts_as_the_same_network_in_safetensors(
    torch_runner: RunnerProcess, write: Write, tmp_path: Path, name: str, dtype: Any, saved: str
) -> None:
    tensors = random_layers(4, 32, 5, dtype=dtype)
    policy = write(tmp_path / name, saved, tensors)
    observations = np.random.default_rng(1).normal(size=(20, 4)).astype(np.float32).tolist()
    tasks = [environment("toys:Chosen", observation=observation, actions=5) for observation in observations]
    answer = torch_runner.load(*policy, *tasks)
    assert (answer["type"], answer.get("digest")) == ("loaded", policy[1]), answer
    expected = [float(outputs_of(tensors, np.array(o, np.float32).astype(dtype)).argmax()) for o in observations]
    assert [outcome["return"] for outcome in torch_runner.play([(i, i, 0, 0) for i in range(20)])] == expected


def test_pickled_code_is_refused_and_is_not_run(torch_runner: RunnerProcess, write: Write, tmp_path: Path) -> None:
    path, digest = write(tmp_path / "p.pth", '{**tensors, "muster": architecture, "more": Evil(path)}', random_layers(1, 2))
    answer = torch_runner.load(path, digest, environment("toys:Toy"))
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
def test_an_invalid_state_dict_is_refused_with_the_reason(
    torch_runner: RunnerProcess, write: Write, tmp_path: Path, saved: str, message: str
) -> None:
    policy = write(tmp_path / "p.pth", saved, random_layers(4, 2))
    answer = torch_runner.load(*policy, environment("gymnasium:CartPole-v1"))
    assert (answer["type"], answer["part"]) == ("refused", "policy")
    assert message in answer["message"]


@pytest.mark.parametrize("keep", [0, 10, 500, -1])
def test_a_damaged_file_is_refused(torch_runner: RunnerProcess, write: Write, tmp_path: Path, keep: int) -> None:
    path, _ = write(tmp_path / "p.pth", '{**tensors, "muster": architecture}', random_layers(4, 2))
    path.write_bytes(path.read_bytes()[:keep])
    answer = torch_runner.load(path, file_digest(path), environment("gymnasium:CartPole-v1"))
    assert (answer["type"], answer["part"]) == ("refused", "policy"), answer
    assert "p.pth is not an intact file of torch.save" in answer["message"] or "p.pth holds more than" in answer["message"]
    assert torch_runner.load(path, file_digest(path), environment("toys:Toy"))["type"] == "refused"


def test_bytes_that_are_no_pickle_are_not_said_to_hold_code(torch_runner: RunnerProcess, tmp_path: Path) -> None:
    path = tmp_path / "p.pth"
    path.write_bytes(bytes(range(256)) * 10)
    answer = torch_runner.load(path, file_digest(path), environment("gymnasium:CartPole-v1"))
    assert answer["message"].endswith("p.pth is not an intact file of torch.save: it begins neither as a zip archive nor as a pickle")


def test_a_state_dict_has_the_same_returns_as_its_tensors_in_safetensors(torch_runner: RunnerProcess, write: Write, tmp_path: Path) -> None:
    from checkpoints import write_mlp

    tensors = random_layers(4, 16, 2)
    played = []
    for policy in (
        write(tmp_path / "p.pth", '{**tensors, "muster": architecture}', tensors),
        write_mlp(tmp_path / "p.safetensors", tensors),
    ):
        torch_runner.load(*policy, environment("gymnasium:CartPole-v1"), actions="stochastic")
        played.append([outcome["return"] for outcome in torch_runner.play(episodes(20))])
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


@pytest.mark.parametrize("name", ["p.pth", "p.safetensors"])
@pytest.mark.parametrize("statistics", ["tensors", "arrays", "lists"])
def test_a_policy_of_save_policy_acts_as_torch_computes(
    torch_runner: RunnerProcess, torch_scripts: TorchScripts, tmp_path: Path, name: str, statistics: str
) -> None:
    path = tmp_path / name
    observations, actions = json.loads(torch_scripts.check(SAVER, path, statistics))
    answer = torch_runner.load(path, file_digest(path), *[environment("toys:Chosen", observation=each, actions=5) for each in observations])
    assert answer["type"] == "loaded", answer
    assert [outcome["return"] for outcome in torch_runner.play([(i, i, 0, 0) for i in range(len(observations))])] == actions
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
def test_save_policy_refuses_what_it_cannot_describe(torch_scripts: TorchScripts, tmp_path: Path, layers: str) -> None:
    script = f"import sys, torch; from muster.save_policy import save_policy; save_policy(torch.nn.Sequential({layers}), sys.argv[1], {{}})"
    saved = torch_scripts.run(script, tmp_path / "p.pth")
    assert "ValueError: expected" in saved.stderr
    assert "did you mean 'normalisation'?" in torch_scripts.run(script.replace("{}", "{}, normalization=None"), tmp_path / "p.pth").stderr
    assert list(tmp_path.iterdir()) == []

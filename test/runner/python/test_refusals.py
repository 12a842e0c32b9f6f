"""What cannot be loaded is refused with what is wrong, before any episode."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints import architecture, file_digest, random_layers, write_directory, write_mlp
from runner_process import Frame, RunnerProcess, environment
from safetensors.numpy import save

from muster_runner import loading
from muster_runner.frames import Load
from muster_runner.policies.checkpoint import Checkpoint
from muster_runner.refusal import PolicyRefusal

CARTPOLE = environment("gymnasium:CartPole-v1")
Policy = tuple[Path, str]


@pytest.fixture(scope="module")
def runner() -> Iterator[RunnerProcess]:
    """One for all tests here: each loads its own checkpoint in place of the former."""
    with RunnerProcess() as process:
        yield process.ready()


def refusal(runner: RunnerProcess, policy: Policy, *environments: Frame, part: str = "policy", **changes: Any) -> str:
    """@returns the message; the runner is still there for another load."""
    answer = runner.load(*policy, *(environments or (CARTPOLE,)), **changes)
    assert (answer["type"], answer.get("part")) == ("refused", part), answer
    runner.send({"type": "ping", "ping": 1})
    assert runner.receive() == {"type": "pong", "ping": 1}
    message: str = answer["message"]
    return message


def raw(path: Path, header: object, data: bytes = b"") -> Policy:
    """A safetensors file byte by byte: length of the header, header, data."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path, file_digest(path)


def test_a_truncated_safetensors_file_is_refused(runner: RunnerProcess, tmp_path: Path) -> None:
    path, _ = write_mlp(tmp_path / "p.safetensors", random_layers(4, 2))
    path.write_bytes(path.read_bytes()[:-3])
    assert "p.safetensors is not an intact safetensors file" in refusal(runner, (path, file_digest(path)))


LIES: dict[str, tuple[object, bytes]] = {
    "offsets past the end": ({"l0.weight": {"dtype": "F32", "shape": [2, 4], "data_offsets": [0, 1 << 40]}}, b"\0" * 32),
    "overlapping tensors": (
        {
            "l0.weight": {"dtype": "F32", "shape": [2, 4], "data_offsets": [0, 32]},
            "l0.bias": {"dtype": "F32", "shape": [2], "data_offsets": [24, 32]},
        },
        b"\0" * 32,
    ),
    "a gap": ({"l0.weight": {"dtype": "F32", "shape": [2, 4], "data_offsets": [8, 40]}}, b"\0" * 40),
    "negative offsets": ({"l0.weight": {"dtype": "F32", "shape": [2, 4], "data_offsets": [-32, 0]}}, b"\0" * 32),
    "offsets the wrong way round": ({"l0.weight": {"dtype": "F32", "shape": [2, 4], "data_offsets": [32, 0]}}, b"\0" * 32),
    "another size than shape and type": ({"l0.weight": {"dtype": "F64", "shape": [2, 4], "data_offsets": [0, 32]}}, b"\0" * 32),
    "a shape that overflows": ({"l0.weight": {"dtype": "F32", "shape": [1 << 62, 1 << 62], "data_offsets": [0, 32]}}, b"\0" * 32),
    "an unknown type": ({"l0.weight": {"dtype": "F31", "shape": [2, 4], "data_offsets": [0, 32]}}, b"\0" * 32),
    "no JSON": (b"{{{{", b""),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_safetensors_file_with_a_false_header_is_refused(runner: RunnerProcess, tmp_path: Path, lie: str) -> None:
    assert "not an intact safetensors file" in refusal(runner, raw(tmp_path / "p.safetensors", *LIES[lie]))


def test_a_safetensors_header_longer_than_the_file_is_refused(runner: RunnerProcess, tmp_path: Path) -> None:
    path = tmp_path / "p.safetensors"
    path.write_bytes((1 << 60).to_bytes(8, "little") + b"{}")
    assert "not an intact safetensors file" in refusal(runner, (path, file_digest(path)))


def test_an_empty_safetensors_file_is_refused(runner: RunnerProcess, tmp_path: Path) -> None:
    path = tmp_path / "p.safetensors"
    path.touch()
    assert "not an intact safetensors file" in refusal(runner, (path, file_digest(path)))


def test_a_safetensors_file_without_the_architecture_is_refused(runner: RunnerProcess, tmp_path: Path) -> None:
    path = tmp_path / "p.safetensors"
    path.write_bytes(save(random_layers(4, 2)))
    assert 'the metadata has no "muster"' in refusal(runner, (path, file_digest(path)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "muster-mlp/2"}, 'muster.format is "muster-mlp/2", expected "muster-mlp/1"'),
        ({"activation": "gelu"}, 'muster.activation is "gelu", expected "tanh" or "relu"'),
        ({"layers": []}, "muster.layers is empty"),
        ({"layers": ["l0", "l9"]}, 'there is no tensor "l9.weight"'),
        ({"normalise": 1}, "muster.normalise is 1, expected true or false"),
        ({"normalise": True}, 'there is no tensor "observation.mean"'),
        ({"action": {"kind": "continuous"}}, 'muster.action has no "squash", expected "tanh" or'),
        ({"action": {"kind": "discreet"}}, 'muster.action.kind is "discreet"'),
        ({"normalize": True}, 'unknown field "normalize"'),
    ],
)
def test_an_architecture_with_a_wrong_field_is_refused(runner: RunnerProcess, tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = tmp_path / "p.safetensors"
    tensors = random_layers(4, 2)
    path.write_bytes(save(tensors, {"muster": json.dumps(architecture(tensors) | change)}))
    assert message in refusal(runner, (path, file_digest(path)))


@pytest.mark.parametrize("field", ["format", "layers", "activation", "action", "normalise"])
def test_an_architecture_that_lacks_a_field_says_what_belongs_there(runner: RunnerProcess, tmp_path: Path, field: str) -> None:
    path = tmp_path / "p.safetensors"
    tensors = random_layers(4, 2)
    lacking = {name: value for name, value in architecture(tensors).items() if name != field}
    path.write_bytes(save(tensors, {"muster": json.dumps(lacking)}))
    assert f'muster has no "{field}", expected ' in refusal(runner, (path, file_digest(path)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"l1.weight": np.zeros((2, 7), np.float32)}, '"l1.weight" takes 7 numbers, "l0" gives 8'),
        ({"l0.bias": np.zeros(9, np.float32)}, '"l0.bias" has 9 numbers, "l0.weight" has 8 rows'),
        ({"l0.weight": np.zeros((8, 4), np.float16)}, 'tensor "l0.weight" is F16, expected F32 or F64'),
        ({"l1.bias": np.zeros(2, np.float64)}, 'tensor "l1.bias" is F64 and others are F32'),
        ({"l0.weight": np.zeros(32, np.float32)}, 'tensor "l0.weight" has the shape [32], expected 2 dimensions'),
        ({"l0.bias": np.full(8, np.nan, np.float32)}, 'tensor "l0.bias" holds numbers that are not finite'),
    ],
)
def test_tensors_of_mismatched_shapes_are_refused(runner: RunnerProcess, tmp_path: Path, change: dict[str, Any], message: str) -> None:
    policy = write_mlp(tmp_path / "p.safetensors", random_layers(4, 8, 2) | change)
    assert message in refusal(runner, policy)


def test_a_checkpoint_with_another_digest_is_refused(runner: RunnerProcess, tmp_path: Path) -> None:
    path, digest = write_mlp(tmp_path / "p.safetensors", random_layers(4, 2))
    wrong = "sha256:" + "0" * 64
    assert refusal(runner, (path, wrong)).startswith(f"the checkpoint's digest is {digest}, expected {wrong}")


def test_a_missing_checkpoint_is_refused(runner: RunnerProcess, tmp_path: Path) -> None:
    assert "there is no checkpoint at" in refusal(runner, (tmp_path / "absent.onnx", "sha256:0"))


def test_a_checkpoint_of_an_unknown_kind_is_refused(runner: RunnerProcess, tmp_path: Path) -> None:
    path = tmp_path / "policy.pkl"
    path.write_bytes(b"x")
    assert "policy.pkl is of an unknown kind" in refusal(runner, (path, file_digest(path)))


def test_a_directory_with_a_link_is_refused(runner: RunnerProcess, tmp_path: Path) -> None:
    directory, digest = write_directory(tmp_path / "d", {"muster.json": "{}"})
    (directory / "elsewhere").symlink_to("/etc")
    assert "symbolic link, elsewhere" in refusal(runner, (directory, digest))


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"policy.py": ""}, "has neither a muster.json nor a file of weights (.safetensors, .onnx, .pt, .ts, .pth, .keras, .zip)"),
        ({"1-a/episodes.ndjson": "", "1-a/summary.json": ""}, "holds results that --out of muster eval or compare kept; give the check"),
        (
            {"a.onnx": "", "b/c.safetensors": ""},
            "has 2 files of weights and no muster.json that says which one is the policy: a.onnx, b/c.safetensors; give one of the files",
        ),
        ({"muster.json": "{"}, "muster.json is not JSON"),
        ({"muster.json": "{}"}, 'muster.json has no "policy"'),
        ({"muster.json": '{"policy":"p:make"}'}, 'policy is "p:make", expected {"file": "NAME"}, {"agents": …} or {"entry": "module:'),
        ({"muster.json": '{"policy":{}}'}, 'policy has no "entry"'),
        ({"muster.json": '{"policy":{"file":"../x.onnx"}}'}, "expected a path inside the checkpoint directory"),
        ({"muster.json": '{"policy":{"file":"x.onnx"}}'}, "holds no such file"),
        ({"muster.json": '{"policy":{"entry":"absent:make"}}'}, 'there is no module "absent"'),
        ({"muster.json": '{"policy":{"entry":"code_here:make"}}', "code_here.py": ""}, 'has no "make"'),
        ({"muster.json": '{"policy":{"entry":"code_here:make"}}', "code_here.py": "make = 1"}, "is a int, expected a function"),
        ({"muster.json": '{"policy":{"entry":"code_here:make"}}', "code_here.py": "def make(**_): return 1"}, "without a method act"),
        ({"muster.json": '{"policy":{"entry":"code_here:make"}}', "code_here.py": "def make(**_): exit(2)"}, "SystemExit: 2"),
        ({"muster.json": '{"policy":{"entry":"code_here:make"}}', "code_here.py": "import absent"}, "No module named 'absent'"),
        ({"muster.json": '{"policy":{"entry":"json:dumps"}}', "json.py": ""}, 'module "json" has the name of another module'),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_directory_without_a_policy_is_refused(runner: RunnerProcess, tmp_path: Path, files: dict[str, str], message: str) -> None:
    directory = write_directory(tmp_path / "checkpoint", dict(files))
    assert message in refusal(runner, directory)


def test_a_package_that_the_interpreter_lacks_is_named_with_the_whole_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(_: Path) -> Checkpoint:
        raise ModuleNotFoundError("No module named 'absent_package'", name="absent_package")

    monkeypatch.setattr(loading, "read_checkpoint", read)
    path = write_mlp(tmp_path / "policy.safetensors", random_layers(4, 2))[0]
    request = Load(1, str(path), "sha256:0", True, None, (), "deterministic", (), None)
    with pytest.raises(PolicyRefusal, match=f"install it there: {sys.executable} -m pip install absent_package"):
        loading.load(request)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("gymnasium:CartPool-v1", "CartPool"),
        ("absent:make", 'there is no module "absent": it is neither installed nor in'),
        ("toys:absent", 'module "toys" has no "absent"'),
        ("toys:broken_factor", 'module "toys" has no "broken_factor"; did you mean "broken_factory"?'),
        ("toys:broken_factory", "RuntimeError: no such level"),
        ("toys:lacking_extra", f"[box2d]\"`; install it there: {sys.executable} -m pip install 'gymnasium[box2d]'"),
        ("toys:not_an_environment", "makes an object of type int without reset"),
    ],
)
def test_an_environment_that_cannot_be_created_is_refused(runner: RunnerProcess, any_policy: Policy, entry: str, message: str) -> None:
    found = refusal(runner, any_policy, environment(entry), part="environment")
    assert found.startswith('task "task-0"')
    assert message in found


def test_an_environment_with_wrong_arguments_is_refused(runner: RunnerProcess, any_policy: Policy) -> None:
    assert "unexpected keyword" in refusal(runner, any_policy, environment("toys:Toy", colour="red"), part="environment")


def test_a_module_of_a_suite_without_code_is_refused(runner: RunnerProcess, any_policy: Policy) -> None:
    message = refusal(runner, any_policy, environment("toys:Toy"), part="environment", code=None)
    assert f'there is no module "toys": it is not installed for {sys.executable}' in message


INSTALL_ABSENT = f"install it there: {sys.executable} -m pip install absent"


# Broken modules, and what of file, line and text has to be in the message.
@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"broken.py": "x = 1\ndef make(**_)\n"}, ['File "broken.py", line 2\n    def make(**_)\n', "SyntaxError: expected"]),
        ({"broken.py": "def make():\nx = 1\n"}, ['File "broken.py", line 2\n    x = 1\n', "IndentationError: "]),
        (
            {"broken.py": "import parts.inner\n", "parts/__init__.py": "", "parts/inner.py": "1 +* 2\n"},
            ['File "broken.py", line 1, in <module>\n    import parts.inner\n', 'File "parts/inner.py", line 1\n    1 +* 2\n'],
        ),
        ({"broken.py": "\n\nimport absent.inner\n"}, ['File "broken.py", line 3, in <module>\n    import absent.inner\n', INSTALL_ABSENT]),
        (
            {"broken.py": "import absent\nmake = absent\n", "absent.py": "import broken\nbroken.make\n"},
            ['File "absent.py", line 2, in <module>'],
        ),
        (
            {"broken.py": "from part import nothing\n", "part.py": ""},
            ["cannot import name 'nothing' from 'part' (part.py)", 'File "broken.py", line 1'],
        ),
        (
            {"broken.py": "def make(**_):\n    open('/absent')\n"},
            ["No such file", "File \"broken.py\", line 2, in make\n    open('/absent')"],
        ),
    ],
    ids=["syntax", "indentation", "syntax of another", "missing package", "circle", "missing name", "factory"],
)
@pytest.mark.parametrize("part", ["environment", "policy"])
def test_an_error_in_a_module_of_a_suite_names_file_line_and_text(
    runner: RunnerProcess, any_policy: Policy, tmp_path: Path, part: str, files: dict[str, str], expected: list[str]
) -> None:
    directory = tmp_path / "brought"
    described = {} if part == "environment" else {"muster.json": '{"policy":{"entry":"broken:make"}}'}
    brought = write_directory(directory, {**files, **described})
    if part == "environment":
        message = refusal(runner, any_policy, environment("broken:make"), part=part, code=str(directory))
    else:
        message = refusal(runner, brought)
    assert [text for text in expected if text not in message] == []
    assert "importlib" not in message and str(directory) not in message


@pytest.mark.parametrize(("name", "expected"), [("p.zip", "expected the zip that model.save() of"), ("p.keras", "not an intact archive")])
def test_a_file_that_is_no_archive_is_refused_before_its_library_is_required(
    runner: RunnerProcess, tmp_path: Path, name: str, expected: str
) -> None:
    path = tmp_path / name
    path.write_bytes(b"PK\x03\x04no archive")
    message = refusal(runner, (path, file_digest(path)))
    assert expected in message and "install it there" not in message

"""Large weights of an ONNX model are mapped from its file, and compute the same outputs as before."""

import contextlib
import re
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from checkpoints import write_onnx
from onnx import TensorProto, helper, numpy_helper

from muster_runner.policies import onnx_model
from muster_runner.policies.checkpoint import Checkpoint
from muster_runner.policies.checkpoint_directory import read_description
from muster_runner.policies.onnx_model import read_onnx
from muster_runner.policies.onnx_weights import WORTH_MAPPING, map_weights
from muster_runner.refusal import PolicyRefusal

COLUMNS = 512
LARGE = WORTH_MAPPING // 4 // COLUMNS
ROWS = np.random.default_rng(1).normal(size=(8, COLUMNS)).astype(np.float32)


def write_model(path: Path, outputs: int, name: str = "p") -> Path:
    """Writes a layer with this many outputs. The length of its names leaves the weights at an odd position in the file."""
    weight = np.random.default_rng(2).normal(size=(outputs, COLUMNS)).astype(np.float32)
    written, _digest = write_onnx(path, weight, np.zeros(outputs, np.float32), batch="batch")
    model = onnx.load(written)
    helper.set_model_props(model, {"note": name})
    onnx.save(model, written)
    return written


def write_scale(path: Path) -> Path:
    """Writes numbers that are used as they are. ONNX Runtime copies those by which a matrix is multiplied, in an order of its own."""
    weight = numpy_helper.from_array(np.ones((1, LARGE * COLUMNS), np.float32), "weight")
    shapes = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, LARGE * COLUMNS]) for name in ("observation", "output")]
    node = helper.make_node("Mul", ["observation", "weight"], ["output"])
    graph = helper.make_graph([node], "scale", shapes[:1], shapes[1:], [weight])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


def outputs_of(path: Path) -> bytes:
    session = onnx_model._open_session(onnxruntime, path)
    (outputs,) = session.run([session.get_outputs()[0].name], {session.get_inputs()[0].name: ROWS})
    return bytes(outputs.tobytes())


def is_mapped(path: Path) -> bool:
    return re.search(rf"{re.escape(str(path))}$", Path("/proc/self/maps").read_text(), re.MULTILINE) is not None


@pytest.mark.parametrize("name", ["", "x", "xx", "xxx"])
def test_a_model_computes_the_same_bits_with_weights_inside_or_beside_it(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_model(tmp_path / "p.onnx", LARGE, name)
    mapped = outputs_of(path)
    monkeypatch.setattr(onnx_model, "map_weights", lambda _path: None)
    assert mapped == outputs_of(path)


def test_weights_in_memory_equal_the_file(tmp_path: Path) -> None:
    path = write_scale(tmp_path / "p.onnx")
    checkpoint: Checkpoint = read_onnx(path)
    assert is_mapped(path)
    del checkpoint
    assert not is_mapped(path)


def test_small_weights_stay_in_the_model(tmp_path: Path) -> None:
    assert map_weights(write_model(tmp_path / "p.onnx", LARGE - 1)) is None


def test_a_model_without_its_weights_is_otherwise_unchanged(tmp_path: Path) -> None:
    path = write_model(tmp_path / "p.onnx", LARGE, "a note")
    content = map_weights(path)
    assert content is not None and len(content) < WORTH_MAPPING
    (tmp_path / "apart.onnx").write_bytes(content)
    external = onnx.load(tmp_path / "apart.onnx")
    for tensor in external.graph.initializer:
        # The field still says where the numbers were before they were read.
        tensor.ClearField("data_location")
    assert external == onnx.load(path)


def test_weights_beside_a_model_stay_there(tmp_path: Path) -> None:
    path = write_model(tmp_path / "p.onnx", LARGE)
    expected = outputs_of(path)
    onnx.save(onnx.load(path), tmp_path / "beside.onnx", save_as_external_data=True, location="weights")
    assert map_weights(tmp_path / "beside.onnx") is None
    assert outputs_of(tmp_path / "beside.onnx") == expected


def test_a_directory_with_only_a_model_and_its_weights_is_that_model(tmp_path: Path) -> None:
    path = write_model(tmp_path / "p.onnx", LARGE)
    (tmp_path / "pair").mkdir()
    onnx.save(onnx.load(path), tmp_path / "pair" / "p.onnx", save_as_external_data=True, location="p.onnx.data")
    assert read_description(tmp_path / "pair") == tmp_path / "pair" / "p.onnx"
    assert outputs_of(tmp_path / "pair" / "p.onnx") == outputs_of(path)


def test_a_model_whose_weights_are_missing_is_refused_with_the_remedy(tmp_path: Path) -> None:
    onnx.save(
        onnx.load(write_model(tmp_path / "p.onnx", LARGE)), tmp_path / "apart.onnx", save_as_external_data=True, location="elsewhere"
    )
    (tmp_path / "elsewhere").unlink()
    with pytest.raises(PolicyRefusal, match=r"apart\.onnx has weights in another file.*onnx\.save\(onnx\.load\("):
        read_onnx(tmp_path / "apart.onnx")


@pytest.mark.parametrize("kept", [0, 1, 7, 100, WORTH_MAPPING // 2])
def test_a_truncated_model_is_refused(tmp_path: Path, kept: int) -> None:
    path = write_model(tmp_path / "p.onnx", LARGE)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(PolicyRefusal, match="not an intact ONNX model"):
        read_onnx(path)


@pytest.mark.parametrize("seed", range(20))
def test_an_invalid_model_is_left_to_onnx_runtime(tmp_path: Path, seed: int) -> None:
    random = np.random.default_rng(seed)
    path = write_model(tmp_path / "p.onnx", LARGE)
    content = bytearray(path.read_bytes())
    for at in random.integers(0, 200, 5):
        content[at] = random.integers(256)
    path.write_bytes(content)
    with contextlib.suppress(PolicyRefusal):
        read_onnx(path)

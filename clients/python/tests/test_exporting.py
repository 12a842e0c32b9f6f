"""Compares networks as portable files with what NumPy computes. tests/training does it with real training libraries."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from gymnasium import spaces

from muster.exporting.errors import ExportError, ParityError
from muster.exporting.network import Activation, Array, Linear, Network, Normalise, Part
from muster.exporting.parity import Reference, assert_parity
from muster.exporting.portable_file import choose_suffix, encode_portable_file, write_whole

SPACE = spaces.Box(-np.inf, np.inf, (3,), np.float32)
ACTIONS = spaces.Discrete(5)
DRAWN = np.random.Generator(np.random.PCG64(1))
NORMALISE = Normalise(np.array([1.0, -2.0, 30.0]), np.array([0.5, 4.0, 100.0]), clip=1.25, epsilon=1e-3)


def network(kind: str) -> Network:
    first, last = (DRAWN.normal(size=shape).astype(np.float32) for shape in ((8, 3), (5, 8)))
    layers = (Linear("a.0", first, first[:, 0].copy()), Activation("a.1", "tanh"), Linear("a.2", last, last[:, 0].copy()))
    steps = (NORMALISE,) if kind == "normalised" else ()
    return Network((Part("", (3,), steps, ()),), layers, {"kind": "discrete"}, bytes=False)


def reference(taken: Network) -> Reference:
    observations = (DRAWN.normal(size=(200, 3)) * 5).astype(np.float32)
    rows: Array = observations
    if taken.normalises:
        scaled = (observations - NORMALISE.mean) / np.sqrt(NORMALISE.variance + NORMALISE.epsilon)
        rows = np.clip(scaled, -NORMALISE.clip, NORMALISE.clip).astype(np.float32)
    first, _, last = taken.layers
    assert isinstance(first, Linear)
    assert isinstance(last, Linear)
    one = rows @ first.weight.T + first.bias
    two = np.tanh(one)
    logits = two @ last.weight.T + last.bias
    values = {"observation.preprocessed": rows, "a.0": one, "a.1": two, "a.2": logits}
    layers = {name: value[:16] for name, value in values.items()}
    return Reference(SPACE, ACTIONS, list(observations), logits.argmax(1), logits, layers)


@pytest.mark.parametrize(("kind", "suffix"), [("plain", ".safetensors"), ("normalised", ".onnx")])
def test_a_network_acts_as_it_was_written_and_a_change_of_it_is_named(kind: str, suffix: str, tmp_path: Path) -> None:
    written = network(kind)
    known, path = reference(written), tmp_path / f"policy{suffix}"
    assert choose_suffix(written) == suffix
    write_whole(path, encode_portable_file(written, suffix))
    assert_parity(path, known)
    assert list(tmp_path.iterdir()) == [path]

    first, _, last = written.layers
    assert isinstance(last, Linear)
    for changed, named in (
        (replace(written, layers=(first, Activation("a.1", "relu"), last)), r"differs is a\.1"),
        (replace(written, layers=(first, Activation("a.1", "tanh"), replace(last, bias=np.zeros(5, np.float32)))), r"differs is a\.2"),
        (replace(written, action={"kind": "continuous", "squash": "none"}), "does not fit"),
    ):
        write_whole(path, encode_portable_file(changed, suffix))
        with pytest.raises((ParityError, ExportError), match=named):
            assert_parity(path, known)


def test_missing_normalisation_statistics_are_named(tmp_path: Path) -> None:
    written = network("normalised")
    known = reference(written)
    bare = replace(written, parts=(Part("", (3,), (), ()),))
    path = tmp_path / f"policy{choose_suffix(bare)}"
    write_whole(path, encode_portable_file(bare, path.suffix))
    with pytest.raises(ParityError, match=r"of 200 observations: .* the first layer that differs is observation\.preprocessed"):
        assert_parity(path, known)

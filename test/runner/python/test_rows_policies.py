"""Policies that play many rows side by side choose for each row what they would choose for it alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from checkpoints import random_layers, write_carried, write_mlp, write_onnx
from gymnasium import spaces
from gymnasium.vector.utils import concatenate, create_empty_array
from onnx import TensorProto, helper
from runner_process import RunnerProcess, environment, without_time

from muster_runner.carried_code import forget, visit
from muster_runner.policies.checkpoint import Checkpoint, Fit
from muster_runner.policies.observation_input import Normalisation, make_observation_input
from muster_runner.policies.policy import Dice
from muster_runner.policies.read_checkpoint import read_checkpoint
from muster_runner.policies.row_dice import AHEAD, RowDice, normal, uniform
from muster_runner.policies.rows_input import RowsInput
from muster_runner.policies.rows_policy import RowFaults, RowsPolicy
from muster_runner.refusal import PolicyRefusal

BOX = spaces.Box(-3.0, 3.0, (3,), np.float32)
WIDTH = 5

OBSERVATIONS = [
    BOX,
    spaces.Box(-1.0, 1.0, (), np.float64),
    spaces.Box(0, 255, (2, 3, 2), np.uint8),
    spaces.Discrete(4, start=-1),
    spaces.MultiDiscrete([[3, 2], [2, 4]]),
    spaces.MultiBinary([2, 2]),
    spaces.Tuple((spaces.Discrete(3), spaces.Box(0.0, 1.0, (2,), np.float32))),
    spaces.Dict({"z": spaces.Discrete(2), "a": spaces.Dict({"b": spaces.MultiBinary(3), "c": spaces.Box(0.0, 1.0, (2, 2), np.float32)})}),
    spaces.OneOf((spaces.Discrete(2), spaces.Box(0.0, 1.0, (2,), np.float32))),
]


def drawn(space: spaces.Space[Any], count: int = WIDTH) -> list[Any]:
    space.seed(3)
    return [space.sample() for _ in range(count)]


def as_batch(space: spaces.Space[Any], values: Sequence[Any]) -> Any:
    empty: Any = create_empty_array(space, len(values))
    return concatenate(space, values, empty)


def plain(actions: Any) -> list[Any]:
    return [np.asarray(action).tolist() for action in actions]


@pytest.mark.parametrize("space", OBSERVATIONS, ids=str)
@pytest.mark.parametrize("is_normalised", [False, True])
def test_observations_of_many_rows_equal_those_of_each_row(space: spaces.Space[Any], is_normalised: bool) -> None:
    size = spaces.flatdim(space)
    normalisation = Normalisation(np.linspace(-1, 1, size), np.linspace(0, 2, size)) if is_normalised else None
    values = drawn(space)
    alone = make_observation_input(space, np.float32, normalisation)
    expected = np.stack([alone(value).copy() for value in values])
    together = RowsInput(space, np.float32, normalisation, WIDTH + 2)
    assert np.array_equal(together.rows(values), expected)
    assert np.array_equal(together.rows(values[:2]), expected[:2])
    assert np.array_equal(together.batch(as_batch(space, values), WIDTH), expected)


@pytest.mark.parametrize(("draw", "count"), [(uniform, 1), (uniform, 3), (normal, 2)])
def test_a_row_draws_the_same_random_numbers_as_alone(draw: Any, count: int) -> None:
    """Whenever it began, and whatever the other rows do."""
    dice, alone = RowDice(3, count, draw), [Dice() for _ in range(3)]
    rng = np.random.default_rng(5)
    for step in range(3 * AHEAD):
        for row in range(3):
            if step == 0 or rng.random() < 0.02:
                dice.reset(row, 100 * step + row)
                alone[row].reset(100 * step + row)
        rows = np.flatnonzero(rng.random(3) < 0.7)
        expected = [alone[row].generator.random(count) if draw is uniform else alone[row].generator.standard_normal(count) for row in rows]
        assert np.array_equal(dice.roll(rows), np.array(expected).reshape(len(rows), count))


def box_of(low: float, high: float) -> spaces.Box:
    return spaces.Box(np.full((2,), low, np.float32), np.full((2,), high, np.float32))


@pytest.mark.parametrize("deterministic", [True, False])
@pytest.mark.parametrize(
    ("action_space", "action"),
    [
        (spaces.Discrete(6, start=3), {"kind": "discrete"}),
        (spaces.MultiDiscrete([[3], [3]], start=[[-1], [0]]), {"kind": "discrete"}),
        *((box_of(-1.0, 2.0), {"kind": "continuous", "squash": squash}) for squash in ("tanh", "clip", "none")),
    ],
    ids=str,
)
@pytest.mark.parametrize("form", ["mlp", "onnx", "onnx of one"])
def test_actions_of_many_rows_equal_those_of_each_row(
    tmp_path: Path, form: str, action_space: Any, action: dict[str, str], deterministic: bool
) -> None:
    checkpoint = network(tmp_path, form, action)
    fit = Fit(BOX, action_space, deterministic)
    rows = checkpoint.fit_rows(fit, WIDTH)
    alone = [checkpoint.fit(fit) for _ in range(WIDTH)]
    for row, single in enumerate(alone):
        rows.reset_row(row, 70 + row)
        single.reset(70 + row)
    for step in range(3):
        observations = drawn(BOX)
        expected = [np.asarray(single.act(observation)) for single, observation in zip(alone, observations, strict=True)]
        if step < 2:
            actions = rows.act_rows(np.arange(WIDTH), observations)
        else:
            actions = rows.act_batch(np.arange(WIDTH), as_batch(BOX, observations))
        assert [np.asarray(one).dtype for one in actions] == [one.dtype for one in expected]
        # A batch may be rounded otherwise.
        np.testing.assert_allclose(np.array([np.asarray(one) for one in actions]), np.array(expected), rtol=1e-5, atol=1e-6)
    # When only some are left, the others do not draw.
    some, observations = np.array([0, 2, 3]), drawn(BOX)
    left = rows.act_rows(some, [observations[row] for row in some])
    np.testing.assert_allclose(plain(left), plain(alone[row].act(observations[row]) for row in some), rtol=1e-5, atol=1e-6)


def network(directory: Path, form: str, action: dict[str, str]) -> Checkpoint:
    outputs = 6 if action["kind"] == "discrete" else 2
    layers = random_layers(3, 8, outputs)
    log_std = np.linspace(-1, 0.3, outputs)
    if form == "mlp":
        tensors = layers | {"action.log_std": log_std.astype(np.float32)}
        return read_checkpoint(write_mlp(directory / "p.safetensors", tensors, action)[0])
    batch: int | str = 1 if form == "onnx of one" else "batch"
    weight = layers["l1.weight"][:, :3]
    return read_checkpoint(write_onnx(directory / "p.onnx", weight, layers["l1.bias"], log_std.tolist(), {"action": action}, batch)[0])


def onnx_model(path: Path, nodes: list[Any], shape: list[Any]) -> Path:
    observation = helper.make_tensor_value_info("observation", TensorProto.FLOAT, shape)
    output = helper.make_tensor_value_info("output", TensorProto.FLOAT, None)
    axes = helper.make_tensor("axes", TensorProto.INT64, [1], [0])
    graph = helper.make_graph(nodes, "policy", [observation], [output], [axes])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


MIXES = [
    helper.make_node("ReduceMean", ["observation", "axes"], ["mean"], keepdims=1),
    helper.make_node("Add", ["observation", "mean"], ["output"]),
]


@pytest.mark.parametrize(
    ("nodes", "shape", "reason"),
    [
        ([helper.make_node("Identity", ["observation"], ["output"])], [1, 3], "the model takes one observation at a time, a batch of 1"),
        (MIXES, ["batch", 3], "the model gives other outputs for an observation that is computed together with another one"),
        (
            [helper.make_node("ReduceMean", ["observation", "axes"], ["output"], keepdims=1)],
            ["batch", 3],
            "the model gives an output of shape (1, 3) for two observations",
        ),
    ],
    ids=["a batch of one", "mixes rows", "one output"],
)
def test_a_model_that_cannot_take_rows_together_takes_them_one_by_one(
    tmp_path: Path, nodes: list[Any], shape: list[Any], reason: str
) -> None:
    checkpoint = read_checkpoint(onnx_model(tmp_path / "p.onnx", nodes, shape))
    fit = Fit(BOX, spaces.Discrete(3), True)
    rows, single = checkpoint.fit_rows(fit, WIDTH), checkpoint.fit(fit)
    (warning,) = rows.warnings
    assert reason in warning
    assert warning.endswith(": rows are played one by one")
    observations = drawn(BOX)
    assert list(rows.act_rows(np.arange(WIDTH), observations)) == [single.act(observation) for observation in observations]


# A policy that remembers: its action is how much it has seen in this episode. Playing rows together is up to it.
REMEMBERS = """
import numpy as np

class Remembers:
    def reset(self, seed):
        self.seed, self.seen = seed, 0

    def act(self, observation):
        self.seen = self.seen * 2 + int(observation[0]) + self.seed % 3
        return self.seen % 1000
"""
TOGETHER = """
    def reset_row(self, row, seed):
        self.rows[row] = [seed, 0]

    def act_rows(self, rows, observations):
        mine = self.rows[rows]
        mine[:, 1] = mine[:, 1] * 2 + observations[:, 0].astype(int) + mine[:, 0] % 3
        self.rows[rows] = mine
        return mine[:, 1] % 1000

    rows = np.zeros((64, 2), int)
"""
MAKE = "\ndef make(**_):\n    return Remembers()\n"


@pytest.mark.parametrize("code", [REMEMBERS + MAKE, REMEMBERS + TOGETHER + MAKE], ids=["row by row", "together"])
@pytest.mark.parametrize("form", ["lockstep", "vector"])
def test_recurrent_state_is_kept_and_reset_by_row(tmp_path: Path, code: str, form: str) -> None:
    policy = write_carried(tmp_path / "p", code)
    work = [(i, 0, i, 50 + i) for i in range(12)]
    width, episodes = (3, 6) if form == "lockstep" else (6, 6)
    batching = {"form": form, "width": width, "episodes": episodes, "episodeSeconds": 60}
    with RunnerProcess() as runner:
        runner.ready().load(*policy, environment("toys:Seen"))
        expected = without_time(runner.play(work))
        # The vector's rows take the seeds that follow its first episode's: here they are those of single play.
        entry = "toys:Seen" if form == "lockstep" else "vector_toys:seen"
        answer = runner.load(*policy, environment(entry), batching=batching)
        assert ("warnings" in answer) == ("act_rows" not in code)
        found = without_time(runner.play(work))
    assert len(set(expected)) == 12
    assert found == expected


def carried(directory: Path, body: str) -> Checkpoint:
    code = f"import numpy as np\nclass P:\n    def act_rows(self, rows, observations):\n        {body}\ndef make(**_):\n    return P()\n"
    return read_checkpoint(write_carried(directory / "p", code)[0])


def fitted(directory: Path, body: str, space: spaces.Space[Any]) -> RowsPolicy:
    checkpoint = carried(directory, body)
    visited = visit(directory / "p")
    try:
        return checkpoint.fit_rows(Fit(BOX, space, True), WIDTH)
    finally:
        forget(visited)


@pytest.mark.parametrize(
    ("body", "space", "wrong"),
    [
        ("return rows", spaces.Discrete(4), [4]),
        ("return rows - 1", spaces.Discrete(5), [0]),
        ("return np.array([300, 1, 1, 1, -1])", spaces.Discrete(5, dtype=np.uint8), [0, 4]),
        ("return np.stack([rows, rows], axis=1)", spaces.MultiDiscrete([9, 3]), [3, 4]),
        ("return [[row % 2, row % 3] for row in rows]", spaces.MultiBinary(2), [2]),
        ("return np.full((5, 2), np.nan)", box_of(0.0, 1.0), []),
        ("return tuple((rows, rows))", spaces.Tuple((spaces.Discrete(9), spaces.Discrete(3))), [3, 4]),
    ],
)
def test_only_the_rows_whose_action_does_not_fit_fail(tmp_path: Path, body: str, space: spaces.Space[Any], wrong: list[int]) -> None:
    policy = fitted(tmp_path, body, space)
    if not wrong:
        assert len(policy.act_rows(np.arange(WIDTH), drawn(BOX))) == WIDTH
        return
    with pytest.raises(RowFaults) as raised:
        policy.act_rows(np.arange(WIDTH), drawn(BOX))
    assert sorted(raised.value.errors) == wrong
    assert all("does not fit" in str(error) for error in raised.value.errors.values())


@pytest.mark.parametrize("body", ["return rows[1:]", "return rows + 0.5", "return None", "return rows[:, None]", "raise KeyError(1)"])
def test_actions_without_rows_fail_every_row(tmp_path: Path, body: str) -> None:
    policy = fitted(tmp_path, body, spaces.Discrete(5))
    with pytest.raises((ValueError, KeyError)):
        policy.act_rows(np.arange(WIDTH), drawn(BOX))


def test_a_policy_that_resets_but_cannot_reset_a_row_is_refused(tmp_path: Path) -> None:
    code = "class P:\n    def reset(self, seed): ...\n    def act_rows(self, rows, observations): ...\ndef make(**_): return P()\n"
    policy = write_carried(tmp_path / "p", code)
    batching = {"form": "lockstep", "width": 2, "episodes": 2, "episodeSeconds": 60}
    with RunnerProcess() as runner:
        answer = runner.ready().load(*policy, environment("toys:Toy"), batching=batching)
    assert "with act_rows and reset, but without reset_row(row, seed)" in answer["message"]


def test_a_policy_that_takes_only_rows_cannot_play_single_observations(tmp_path: Path) -> None:
    checkpoint = carried(tmp_path, "return rows")
    visited = visit(tmp_path / "p")
    try:
        with pytest.raises(PolicyRefusal, match=r"without a method act\(observation\)"):
            checkpoint.fit(Fit(BOX, spaces.Discrete(5), True))
    finally:
        forget(visited)


def test_a_checkpoint_that_does_not_fit_is_refused_for_rows_as_well(tmp_path: Path) -> None:
    checkpoint = read_checkpoint(write_mlp(tmp_path / "p.safetensors", random_layers(6, 2))[0])
    with pytest.raises(PolicyRefusal, match="the policy takes 6 numbers, the environment gives 3"):
        checkpoint.fit_rows(Fit(BOX, spaces.Discrete(2), True), WIDTH)

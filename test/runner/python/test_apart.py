"""What travels between a policy's program and the environment's, and what of it is believed."""

import json
import random
import socket
import struct
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from muster_runner.apart.actions import Actions
from muster_runner.apart.distant_policy import DistantRows
from muster_runner.apart.observations import Observations
from muster_runner.apart.policy_link import PolicyLink
from muster_runner.apart.space_data import UnsentSpace, read_space, write_space
from muster_runner.apart.wire import ANSWER, REQUEST, Answer
from muster_runner.failure import EnvironmentFault
from muster_runner.policies.checkpoint import Fit
from muster_runner.policies.rows_policy import RowFaults

Space = spaces.Space[Any]
SEEDS = range(150)


def drawn_space(draw: random.Random, depth: int = 2) -> Space:
    kinds = [
        "box",
        "discrete",
        "multi-discrete",
        "multi-binary",
        *(["tuple", "dict"] if depth else []),
    ]
    shape = tuple(draw.randrange(1, 4) for _ in range(draw.randrange(3)))
    match draw.choice(kinds):
        case "box":
            dtype: Any = draw.choice([np.float32, np.float64, np.uint8, np.int64])
            low, high = sorted(draw.sample(range(100), 2))
            return spaces.Box(low, high, shape, dtype)
        case "discrete":
            return spaces.Discrete(draw.randrange(1, 9), start=draw.randrange(-5, 5))
        case "multi-discrete":
            counts = np.array(draw.choices(range(1, 5), k=3))
            return spaces.MultiDiscrete(counts, start=np.array(draw.choices(range(-3, 3), k=3)))
        case "multi-binary":
            return spaces.MultiBinary(draw.choice([3, [2, 2]]))
        case "tuple":
            return spaces.Tuple([drawn_space(draw, depth - 1) for _ in range(draw.randrange(1, 3))])
        case _:
            return spaces.Dict([(name, drawn_space(draw, depth - 1)) for name in draw.sample("xyz", 2)])


def describe(value: Any) -> Any:
    """A value with its types, for comparison."""
    if isinstance(value, dict):
        return {name: describe(part) for name, part in value.items()}
    if isinstance(value, tuple):
        return tuple(describe(part) for part in value)
    return (
        type(value),
        getattr(value, "dtype", None),
        np.shape(value),
        np.asarray(value).tolist(),
    )


def at_leaves(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, dict):
        return {name: at_leaves(part, change) for name, part in value.items()}
    return tuple(at_leaves(part, change) for part in value) if isinstance(value, tuple) else change(value)


@pytest.mark.parametrize("seed", SEEDS)
def test_spaces_observations_and_actions_arrive_unchanged(seed: int) -> None:
    space = drawn_space(random.Random(seed))
    again = read_space(json.loads(json.dumps(write_space(space))))
    assert again == space
    space.seed(seed)
    natural = [
        at_leaves(
            space.sample(),
            lambda part: int(part) if np.shape(part) == () and np.asarray(part).dtype == np.int64 else part,
        )
    ]
    others = [
        at_leaves(space.sample(), lambda part: np.asarray(part, np.float64)),
        space.sample(),
    ]
    codec = Observations(space)
    for observation in natural + others:
        is_natural, data = codec.write(observation)
        read = codec.read(memoryview(data), is_natural)
        assert describe(read) == describe(observation)
    rows = [*natural, *others]
    is_natural, data = codec.write_rows(rows)
    assert [describe(row) for row in codec.read_rows(memoryview(data), len(rows), is_natural)] == [describe(row) for row in rows]
    actions = Actions(again)
    for action in [space.sample() for _ in range(3)]:
        read = actions.read(memoryview(actions.write(action)))
        assert again.contains(read)


@pytest.mark.parametrize("seed", SEEDS)
def test_any_bytes_decode_to_valid_actions_or_are_refused(seed: int) -> None:
    draw = random.Random(seed)
    actions = Actions(drawn_space(draw))
    count = draw.randrange(1, 5)
    # Small bytes are actions now and then.
    data = memoryview(bytes(draw.choice([0, 0, 0, 0, 1, 2, 255, draw.randrange(256)]) for _ in range(count * actions.bytes)))
    found, errors = actions.read_rows(data, count)
    for place in range(count):
        one = data[place * actions.bytes : (place + 1) * actions.bytes]
        if place in errors:
            with pytest.raises(ValueError, match="does not fit"):
                actions.read(one)
        else:
            assert describe(actions.read(one)) == describe(found[place])
            assert all(np.isfinite(leaf).all() for leaf in leaves(found[place]))


def leaves(value: Any) -> list[Any]:
    parts = list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, tuple) else None
    return [value] if parts is None else [leaf for part in parts for leaf in leaves(part)]


class Derived(spaces.Discrete):
    pass


@pytest.mark.parametrize("space", [spaces.Text(3), Derived(2), spaces.Sequence(spaces.Discrete(2))])
def test_an_ambiguous_space_is_refused(space: Space) -> None:
    with pytest.raises(UnsentSpace):
        write_space(space)


def test_an_observation_that_does_not_fit_its_space_is_a_crash_of_the_environment() -> None:
    codec = Observations(spaces.Dict({"a": spaces.Box(0, 1, (2,)), "b": spaces.Discrete(2)}))
    for wrong in (
        {"a": np.zeros(2)},
        {"a": np.zeros(3), "b": 0},
        None,
        {"a": "text", "b": 0},
        {"a": np.zeros(2), "b": 2**70},
    ):
        with pytest.raises(EnvironmentFault):
            codec.write(wrong)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_valid_report_of_failed_rows_fails_those_rows_and_an_invalid_one_fails_all_rows(
    seed: int,
) -> None:
    draw = random.Random(seed)
    here, there = socket.socketpair()
    link = PolicyLink(here.detach())
    space = spaces.Discrete(3)
    count = 3
    body = (
        draw.randbytes(draw.randrange(60)) if seed % 2 else struct.pack("<I", draw.randrange(5)) + draw.randbytes(draw.choice([8, 20, 32]))
    )

    def answer() -> None:
        with there:
            for kind, data in ((Answer.DONE, b""), (Answer.ROWS_FAILED, body)):
                header = there.recv(REQUEST.size, socket.MSG_WAITALL)
                length, nonce = REQUEST.unpack(header)[4:]
                there.recv(length, socket.MSG_WAITALL)
                there.sendall(ANSWER.pack(kind, len(data), nonce) + data)

    peer = threading.Thread(target=answer)
    peer.start()
    try:
        link.ask(link.request(1), 0)
        rows = DistantRows(link, 0, Fit(spaces.Discrete(2), space, True), ())
        with pytest.raises(Exception) as raised:
            rows.act_rows(np.arange(count), [0] * count)
    finally:
        peer.join()
    assert type(raised.value).__name__ in ("ReportedFailure", "RowFaults")
    if isinstance(raised.value, RowFaults):
        assert set(raised.value.errors) <= set(range(count))
        assert all(action in range(3) for place, action in enumerate(raised.value.actions) if place not in raised.value.errors)

"""Environments that are kept for the next block: no more than there is room for, and none is lost."""

import random
from typing import Any

import numpy as np
import pytest

from muster_runner.blocks.environment_pool import EnvironmentPool
from muster_runner.blocks.vector_pool import KEPT_VECTORS, VectorPool


class Counted:
    """Stands for a maker and for the environments that it makes; draws while it makes one."""

    def __init__(self, name: Any = None) -> None:
        self.name = name
        self.made: list[Counted] = []
        self.is_closed = False

    def make(self, *width: int) -> Any:
        random.seed(0)
        np.random.seed(0)
        self.made.append(Counted((self.name, *width)))
        return self.made[-1]

    def close(self) -> None:
        assert not self.is_closed
        self.is_closed = True

    def open(self) -> list["Counted"]:
        return [made for made in self.made if not made.is_closed]


def makers(count: int) -> Any:
    return [Counted(i) for i in range(count)]


def test_an_environment_that_was_given_back_is_reused() -> None:
    (maker,) = made = makers(1)
    pool = EnvironmentPool(made, kept=2)
    first, second = pool.take(0), pool.take(0)
    assert first is not second
    pool.give(0, second)
    assert pool.take(0) is second
    assert len(maker.made) == 2


def test_an_environment_beyond_the_capacity_is_closed() -> None:
    one, other = made = makers(2)
    pool = EnvironmentPool(made, kept=3)
    for environment in [pool.take(0) for _ in range(4)]:
        pool.give(0, environment)
    assert (len(one.open()), len(one.made)) == (3, 4)
    kept = pool.take(0)
    pool.give(1, pool.take(1))
    pool.give(0, kept)
    assert (len(one.open()), len(other.open())) == (2, 1)
    pool.close()
    assert not one.open()
    assert not other.open()


def test_creating_an_environment_leaves_the_shared_random_generators_unchanged() -> None:
    random.seed(5)
    np.random.seed(5)
    expected = (random.random(), np.random.random())
    random.seed(5)
    np.random.seed(5)
    EnvironmentPool(makers(1), kept=1).take(0)
    assert (random.random(), np.random.random()) == expected


def test_vectors_are_cached_by_task_and_width_and_the_least_recently_used_is_closed() -> None:
    one, other = made = makers(2)
    pool = VectorPool(made)
    for width in range(1, KEPT_VECTORS + 1):
        pool.give(0, width, pool.take(0, width))
    pool.give(0, 1, pool.take(0, 1))
    pool.give(1, 7, pool.take(1, 7))
    assert [vector.name for vector in one.made if vector.is_closed] == [(0, 2)]
    assert pool.take(0, 7) is one.made[6]
    assert pool.take(1, 7) is other.made[0]
    pool.close()
    assert len(one.open()) == 1


def test_a_vector_that_cannot_be_closed_does_not_stop_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    (maker,) = made = makers(1)
    pool = VectorPool(made)
    for width in (1, 2):
        pool.give(0, width, pool.take(0, width))
    maker.made[1].close()
    pool.close()
    assert not maker.open()
    assert "closing the environment failed: AssertionError" in capsys.readouterr().err

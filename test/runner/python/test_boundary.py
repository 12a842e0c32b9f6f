"""Tests and candidate on two sides of a boundary: a real process of a candidate, and what the tests see of it."""

import contextlib
import math
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from runner_process import RUNNER

from muster_boundary.line import Line
from muster_boundary.plain import NotPlain
from muster_boundary.trusted import Asker, CandidateGone

CANDIDATE = """
import collections, contextlib, dataclasses, enum, os, socket, struct

class Problem(ValueError):
    def __init__(self, code):
        super().__init__(f"code {code}")
        self.code = code

def ordered(numbers, key=None): return sorted(numbers, key=key)
def order(numbers): numbers.sort()
def add(item, into):
    into.append(item)
    return into
def fail(code): raise Problem(code)
def count(most): yield from range(most)
def total(numbers): return sum(numbers)
def adder(n): return lambda m: m + n
def walk(tree, visit):
    visit(tree)
    for each in tree:
        if isinstance(each, list): walk(each, visit)
def same(value): return value
def leave(): os._exit(0)
def nonsense(): socket.socket(fileno=os.dup(3)).sendall(struct.pack(">I", 9) + b'{"value":')
def endless(): socket.socket(fileno=os.dup(3)).sendall(struct.pack(">I", 2**31))
async def later(): return 1
@contextlib.contextmanager
def opened(n):
    try: yield n + 1
    except KeyError: pass

class Anything:
    def __eq__(self, other): return True
    def __sub__(self, other): return 0.0
    def __rsub__(self, other): return 0.0
    def __lt__(self, other): return True
    def __contains__(self, item): return True
    def startswith(self, text): return True
def anything(): return Anything()

@dataclasses.dataclass
class Item:
    name: str
    price: float = 1.0
    def double(self): return Item(self.name, self.price * 2)
    def __add__(self, other): return Item(self.name + other.name)
    def __len__(self): return len(self.name)
class Special(Item): pass
Point = collections.namedtuple("Point", "x y")
def point(): return Point(1, 2)
class Bag(dict): pass
def bag(): return Bag(a=[1])
class Color(enum.Enum):
    RED = 1
    BLUE = 2
LIMIT = [1, 2]
def limit(): return LIMIT
"""


@contextlib.contextmanager
def crossing(directory: Path, *classes: str) -> Iterator[Asker]:
    (directory / "candidate_code.py").write_text(CANDIDATE)
    ours, theirs = socket.socketpair()
    with ours:
        script = "import os, sys; os.dup2(int(sys.argv[1]), 3); os.execv(sys.executable, [sys.executable, *sys.argv[2:]])"
        program = [str(RUNNER / "boundary.py"), "candidate", "--path", str(directory)]
        process = subprocess.Popen(
            [sys.executable, "-c", script, str(theirs.fileno()), "-B", *program], pass_fds=[theirs.fileno()], stdout=subprocess.DEVNULL
        )
        theirs.close()
        yield Asker(Line(ours), list(classes))
    assert process.wait(timeout=60) == 0


def module(tests: Asker) -> Any:
    return tests.ask("import", "candidate_code")


def test_plain_data_and_changes_to_it_pass_as_within_one_process(tmp_path: Path) -> None:
    with crossing(tmp_path) as tests:
        code = module(tests)
        numbers = [3, 1, 2]
        code.order(numbers)
        assert (numbers, code.ordered((2, 1))) == ([1, 2, 3], [1, 2])
        assert code.add(4, numbers) is numbers
        assert numbers == [1, 2, 3, 4]
        circle: list[Any] = []
        circle.append(circle)
        assert code.same(circle) is circle
        deep: list[Any] = []
        for _ in range(3000):
            deep = [deep]
        assert code.same(deep) is deep
        values = [
            Decimal("1.50"),
            2**100,
            -0.0,
            b"\0",
            {1: {2}},
            frozenset({(1, "ü")}),
            Counter("aab"),
            slice(1, 2),
            range(3),
            None,
            ...,
            1j,
        ]
        given = code.same(tuple(values))
        assert (given, [type(each) for each in given]) == (tuple(values), [type(each) for each in values])
        assert math.isnan(code.same(math.nan))
        assert math.copysign(1, code.same(-0.0)) == -1


def test_functions_and_iterators_of_the_tests_are_called_back(tmp_path: Path) -> None:
    with crossing(tmp_path) as tests:
        code = module(tests)
        seen: list[Any] = []
        code.walk([1, [2, [3]]], seen.append)
        assert seen == [[1, [2, [3]]], [2, [3]], [3]]
        assert code.ordered([1, 3, 2], key=lambda each: -code.total([each])) == [3, 2, 1]
        assert code.total(each for each in (1, 2, 3)) == 6

        def fails(_: object) -> None:
            raise LookupError("mine")

        with pytest.raises(LookupError, match="mine") as caught:
            code.ordered([1], key=fails)
        assert caught.traceback[-1].name == "fails"
        assert code.adder(3)(4) == 7
        assert list(code.count(3)) == [0, 1, 2]
        with code.opened(1) as two:
            assert two == 2
            raise KeyError


def test_exceptions_classes_and_objects_behave_as_they_are_declared(tmp_path: Path) -> None:
    with crossing(tmp_path, "candidate_code.Item", "candidate_code.Color") as tests:
        code = module(tests)
        with pytest.raises(code.Problem, match="code 5") as caught:
            code.fail(5)
        assert isinstance(caught.value, ValueError)
        assert caught.value.code == 5
        item = code.Item("a", price=2.0)
        assert (item.name, item.double().price, (item + item).name, len(item)) == ("a", 4.0, "aa", 1)
        assert isinstance(item, code.Item)
        assert isinstance(code.Special("b"), code.Item)
        item.price = 9.0
        assert item.double().price == 18.0
        with pytest.raises(AttributeError):
            item.nothing  # noqa: B018
        assert code.Color.RED is code.Color(1)
        assert [each.name for each in code.Color] == ["RED", "BLUE"]
        assert code.point() == (1, 2)
        assert code.bag() == {"a": [1]}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(code, "LIMIT", [5])
            assert code.limit() == [5]
        assert code.limit() == [1, 2]


def test_comparison_methods_of_candidate_objects_are_never_called(tmp_path: Path) -> None:
    with crossing(tmp_path) as tests, pytest.raises(NotPlain, match=r"gave a candidate_code\.Anything, which is no plain data"):
        module(tests).anything()
    with crossing(tmp_path, "candidate_code.Anything", "candidate_code.Item") as tests:
        code = module(tests)
        hostile = code.anything()
        claims = [
            lambda: hostile == [1],
            lambda: [1] == hostile,  # noqa: SIM300
            lambda: hostile != [1],
            lambda: hostile < 5,
            lambda: 5 > hostile,  # noqa: SIM300
            lambda: hostile - 1.5,
            lambda: 1.5 - hostile,
            lambda: pytest.approx(hostile) == 1.5,
            lambda: 5 in hostile,
            lambda: hostile.startswith("a"),
            lambda: code.Item("a") == code.Item("a"),
        ]
        for claim in claims:
            with pytest.raises((NotPlain, TypeError)):
                claim()


def test_a_value_that_cannot_pass_is_refused_by_name(tmp_path: Path) -> None:
    class Mine:
        pass

    with crossing(tmp_path) as tests:
        code = module(tests)
        with pytest.raises(NotPlain, match="Mine of the tests cannot pass to the candidate"):
            code.same(Mine())
        with pytest.raises(NotPlain, match=r"later\(\) is asynchronous"):
            code.later()
        with pytest.raises(NotPlain, match="expected at most 16777216"):
            code.same("x" * (16 << 20))
        with pytest.raises(NotPlain, match="class Own of the tests inherits"):
            type("Own", (code.Problem,), {})
        assert code.same(1) == 1


@pytest.mark.parametrize("way", ["leave", "nonsense", "endless"])
def test_a_candidate_that_ends_or_answers_invalidly_fails_every_test_that_uses_it(tmp_path: Path, way: str) -> None:
    with crossing(tmp_path) as tests:
        code = module(tests)
        with pytest.raises(CandidateGone):
            getattr(code, way)()

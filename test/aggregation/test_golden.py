"""The committed golden values are what SciPy, statsmodels and the published formulas give."""

import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts/golden"))

from golden_values import GOLDEN_FILE, SECTIONS, is_same, renewed

COMMITTED: dict[str, Any] = json.loads(GOLDEN_FILE.read_text(encoding="utf-8"))


def test_every_section_of_golden_values_is_committed() -> None:
    assert list(COMMITTED) == list(SECTIONS)


@pytest.mark.parametrize("section", SECTIONS)
def test_a_committed_section_equals_the_computed_one(section: str) -> None:
    assert is_same(SECTIONS[section](), COMMITTED[section]), "run .venv/bin/python scripts/golden/golden_values.py"


def test_values_that_differ_by_rounding_alone_stay_as_they_are_committed() -> None:
    committed = {"rounded": [{"low": 0.1, "count": 3}], "changed": [0.2], "removed": [1.0]}
    computed = {"rounded": [{"low": math.nextafter(0.1, 1), "count": 3}], "changed": [0.21], "added": [2.0]}
    assert renewed(computed, committed) == {"rounded": [{"low": 0.1, "count": 3}], "changed": [0.21], "added": [2.0]}


# Figures that the statistics were specified with; the same as in golden.test.ts.
def test_the_specified_figures_are_among_the_golden_values() -> None:
    assert interval("clopperPearson") == pytest.approx((0.6830172860, 0.9876514728), abs=1e-9)
    assert COMMITTED["student"][0]["quantile"] == pytest.approx(2.3646242516, abs=1e-9)
    first = COMMITTED["asymptotic"][0]
    assert (first["rhoSquared"], first["halfWidth"]) == pytest.approx((0.0158665939, 0.1357387551), abs=1e-9)
    # One grid point to either side belongs to the interval: [.567, .958] after 50 episodes and [.707, .866] after 200.
    assert [(case["first"], case["last"]) for case in COMMITTED["certified"][:2]] == [(568, 957), (708, 865)]


def interval(section: str, case: int = 0) -> tuple[float, float]:
    found = COMMITTED[section][case]
    return found["low"], found["high"]

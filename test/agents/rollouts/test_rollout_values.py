import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts/golden"))
from rollout_values import GOLDEN_FILE, golden_values

COMMITTED = json.loads(GOLDEN_FILE.read_text(encoding="utf-8"))


def test_the_committed_advantages_equal_the_formulas() -> None:
    computed = golden_values()
    assert [(case["name"], case["terms"]) for case in computed] == [(case["name"], case["terms"]) for case in COMMITTED]
    for ours, theirs in zip(computed, COMMITTED, strict=True):
        assert {**ours, "advantages": None} == {**theirs, "advantages": None}
        assert ours["advantages"] == [pytest.approx(each) if each is not None else None for each in theirs["advantages"]]

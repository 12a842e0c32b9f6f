"""What is shown while an evaluation is played."""

import io
import sys
from typing import Any

import pytest

from muster_client.evaluation import read_event, read_running
from muster_client.fields import Fields
from muster_client.progress import line, watching
from tests.samples import event, figures


def shown(progress: Any) -> str:
    with watching(progress, "evaluating") as watch:
        watch(read_event(Fields(event(1, "state", {"state": "running"}), "event")))
        watch(read_event(Fields(event(2, "progress", figures(80)), "event")))
        assert isinstance(sys.stderr, io.StringIO)
    return sys.stderr.getvalue()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_is_shown_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    text = shown("auto")
    assert "evaluating" in text
    assert "80/280" in text
    assert "mean 490.5 ± 20.2 (to 10)" in text


def test_nothing_is_shown_elsewhere_unless_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert shown("auto") == ""
    assert "evaluating" in shown("bar")


def test_a_disabled_progress_bar_is_not_shown_in_a_terminal_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert shown("off") == ""


def test_nothing_is_shown_before_there_are_figures() -> None:
    running = read_running(Fields(figures(0) | {"mean": None, "halfWidth": None}, "running"))
    assert line(running) == ""


def test_a_comparison_says_how_many_candidates_are_decided() -> None:
    candidates = [{"digest": "a", "verdict": "promote"}, {"digest": "b", "verdict": None}]
    running = read_running(Fields(figures(80) | {"kind": "comparison", "candidates": candidates}, "running"))
    assert line(running) == "1 of 2 decided"

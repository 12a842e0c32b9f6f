"""One contract for all sinks: what was logged can be read back, at its step, whatever the order in which it came."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from muster.sinks.named_sinks import open_sinks
from muster_client import InvalidArgument
from tests.logged import READERS, Logged, read_csv, stay_offline

LATE: list[tuple[int, dict[str, float]]] = [
    (200, {"estimate": 12.5}),
    (100, {"mean": 9.0, "low": 8.0, "high": 10.0}),
    (200, {"mean": 13.0, "low": 12.0, "high": 14.0}),
]
PAGE = "<!doctype html>"
EXPECTED = Logged(
    figures={
        "estimate": {200: 12.5},
        "mean": {100: 9.0, 200: 13.0},
        "low": {100: 8.0, 200: 12.0},
        "high": {100: 10.0, 200: 14.0},
    },
    links={200: "http://muster:7677/evaluations/ev-1"},
    documents={200: PAGE},
)


def case(name: str) -> Any:
    is_missing = name != "csv" and find_spec(name) is None
    return pytest.param(name, marks=pytest.mark.skipif(is_missing, reason=f"{name} is not installed: npm run test:training"))


@pytest.mark.parametrize("name", [case(name) for name in READERS])
def test_figures_are_read_back_at_their_steps(
    name: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    stay_offline(tmp_path, monkeypatch)
    document = tmp_path / "report.html"
    document.write_text(PAGE)
    with caplog.at_level(logging.WARNING, "muster"):
        sinks = open_sinks(name, tmp_path)
        for step, figures in LATE:
            sinks.log(step, figures)
        sinks.keep(200, document)
        for step, url in EXPECTED.links.items():
            sinks.link(step, url)
        sinks.close()
    warned = [record.getMessage() for record in caplog.records if record.name == "muster"]
    assert len(warned) == (1 if name == "wandb" else 0), warned
    assert all("offline" in warning for warning in warned)
    assert READERS[name](tmp_path) == EXPECTED


class Broken:
    def log(self, step: int, figures: Mapping[str, float]) -> None:
        raise OSError(f"no space left on device for {len(figures)} figures of step {step}")

    def keep(self, step: int, path: Path) -> None:
        raise OSError(f"no space left on device for {path} of step {step}")

    def link(self, step: int, url: str) -> None:
        raise OSError(f"no space left on device for {url} of step {step}")

    def close(self) -> None:
        """Nothing is open."""


def test_a_failing_sink_causes_one_warning_and_the_others_continue(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    sinks = open_sinks([Broken(), "csv"], tmp_path)
    for step, figures in LATE:
        sinks.log(step, figures)
    for step, url in EXPECTED.links.items():
        sinks.link(step, url)
    sinks.close()
    assert [record.getMessage() for record in caplog.records] == [
        "logging to Broken fails, and is tried again with the next figures: no space left on device for 1 figures of step 200"
    ]
    assert read_csv(tmp_path) == replace(EXPECTED, documents={})


def test_an_unknown_sink_is_refused() -> None:
    from muster.sinks.named_sinks import assert_log

    given: Any = "tensorbord"
    with pytest.raises(InvalidArgument, match=r"log: expected tensorboard, wandb, .*, got 'tensorbord'"):
        assert_log(given)

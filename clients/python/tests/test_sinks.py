"""One contract for all sinks: what was logged can be read back, at its step, whatever the order in which it came."""

import csv
import json
import logging
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from muster.sinks.named_sinks import open_sinks
from muster_client import InvalidArgument

Read = Callable[[Path], dict[str, dict[int, float]]]
LATE: list[tuple[int, dict[str, float]]] = [
    (200, {"estimate": 12.5}),
    (100, {"mean": 9.0, "low": 8.0, "high": 10.0}),
    (200, {"mean": 13.0, "low": 12.0, "high": 14.0}),
]
LINKED = ("200", "http://muster:7677/evaluations/ev-1")
EXPECTED = {
    "estimate": {200: 12.5},
    "mean": {100: 9.0, 200: 13.0},
    "low": {100: 8.0, 200: 12.0},
    "high": {100: 10.0, 200: 14.0},
}


def read_csv(directory: Path) -> dict[str, dict[int, float]]:
    with (directory / "muster.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["step"], row["page"]) for row in rows if row["page"]] == [LINKED]
    return {name: {int(row["step"]): float(row[name]) for row in rows if row[name]} for name in EXPECTED}


def read_tensorboard(directory: Path) -> dict[str, dict[int, float]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(str(directory))
    found.Reload()
    (linked,) = found.Tensors("muster/page")
    assert (str(linked.step), linked.tensor_proto.string_val[0].decode()) == (LINKED[0], f"[{LINKED[1]}]({LINKED[1]})")
    return {name: {event.step: event.value for event in found.Scalars(f"muster/{name}")} for name in EXPECTED}


def read_wandb(directory: Path) -> dict[str, dict[int, float]]:
    """The records of the offline run, as the library's own command prints them."""
    (path,) = directory.glob("wandb/offline-run-*/run-*.wandb")
    command = [sys.executable, "-m", "wandb", "leet", "inspect", "--json", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    items = [record["history"]["item"] for record in records if record["type"] == "history"]
    assert [(str(item["muster/step"]), item["muster/page"]) for item in items if "muster/page" in item] == [LINKED]
    return {name: {item["muster/step"]: item[f"muster/{name}"] for item in items if f"muster/{name}" in item} for name in EXPECTED}


def read_mlflow(_directory: Path) -> dict[str, dict[int, float]]:
    import mlflow

    client = mlflow.MlflowClient()
    experiment = client.get_experiment_by_name("muster")
    assert experiment is not None
    (run,) = client.search_runs([experiment.experiment_id])
    assert run.info.status == "FINISHED"
    assert run.data.tags[f"muster/page/{LINKED[0]}"] == LINKED[1]
    assert [file.path for file in client.list_artifacts(run.info.run_id, "muster/200")] == ["muster/200/report.html"]
    return {name: {m.step: m.value for m in client.get_metric_history(run.info.run_id, f"muster/{name}")} for name in EXPECTED}


def read_aim(_directory: Path) -> dict[str, dict[int, float]]:
    from aim import Repo, Run

    # By its name, and not only to be read: Aim's index has it once Aim's own server has looked.
    (name,) = Repo(".").list_all_runs()
    run = Run(name, repo=".", system_tracking_interval=None)
    assert run[f"muster/page/{LINKED[0]}"] == LINKED[1]
    found: dict[str, dict[int, float]] = {}
    for metric, context, _ in run.iter_metrics_info():
        steps, (values, *_) = run.get_metric(metric, context).data.items_list()
        found[metric.removeprefix("muster/")] = dict(zip(steps, values, strict=True))
    run.close()
    return found


SINKS: Mapping[str, Read] = {
    "csv": read_csv,
    "tensorboard": read_tensorboard,
    "wandb": read_wandb,
    "mlflow": read_mlflow,
    "aim": read_aim,
}


def case(name: str) -> Any:
    is_missing = name != "csv" and find_spec(name) is None
    return pytest.param(name, marks=pytest.mark.skipif(is_missing, reason=f"{name} is not installed: npm run test:training"))


@pytest.mark.parametrize("name", [case(name) for name in SINKS])
def test_figures_are_read_back_at_their_steps(
    name: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"file:{tmp_path}/mlruns")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    for variable in ("WANDB_DATA_DIR", "WANDB_CACHE_DIR", "WANDB_CONFIG_DIR"):
        monkeypatch.setenv(variable, str(tmp_path))
    monkeypatch.setenv("WANDB_SILENT", "true")
    document = tmp_path / "report.html"
    document.write_text("<!doctype html>")
    with caplog.at_level(logging.WARNING, "muster"):
        sinks = open_sinks(name, tmp_path)
        for step, figures in LATE:
            sinks.log(step, figures)
        sinks.keep(200, document)
        sinks.link(int(LINKED[0]), LINKED[1])
        sinks.close()
    warned = [record.getMessage() for record in caplog.records if record.name == "muster"]
    assert len(warned) == (1 if name == "wandb" else 0), warned
    assert all("offline" in warning for warning in warned)
    assert SINKS[name](tmp_path) == EXPECTED


class Broken:
    def log(self, step: int, figures: Mapping[str, float]) -> None:
        raise OSError(f"no space left on device for {len(figures)} figures of step {step}")

    def keep(self, step: int, path: Path) -> None:
        raise OSError(f"no space left on device for {path} of step {step}")

    def link(self, step: int, url: str) -> None:
        raise OSError(f"no space left on device for {url} of step {step}")

    def close(self) -> None:
        """Nothing is open."""


def test_a_sink_that_fails_is_warned_of_once_and_the_others_go_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    sinks = open_sinks([Broken(), "csv"], tmp_path)
    for step, figures in LATE:
        sinks.log(step, figures)
    sinks.link(int(LINKED[0]), LINKED[1])
    sinks.close()
    assert [record.getMessage() for record in caplog.records] == [
        "logging to Broken fails, and goes on being tried: no space left on device for 1 figures of step 200"
    ]
    assert read_csv(tmp_path) == EXPECTED


def test_a_name_that_no_sink_has_is_refused() -> None:
    from muster.sinks.named_sinks import assert_log

    given: Any = "tensorbord"
    with pytest.raises(InvalidArgument, match=r"log: expected tensorboard, wandb, .*, got 'tensorbord'"):
        assert_log(given)

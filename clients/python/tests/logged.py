"""What sinks hold, read back by the libraries that they log with."""

import csv
import json
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from muster.sinks.sink import FIGURES
from tests.real_server import HANG_SECONDS


@dataclass(frozen=True)
class Logged:
    """What a sink holds, by step."""

    figures: dict[str, dict[int, float]]
    links: dict[int, str]
    documents: dict[int, str]


def stay_offline(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is logged stays in a directory, which becomes the working directory; there is no login."""
    monkeypatch.chdir(directory)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"file:{directory}/mlruns")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("NETRC", str(directory / "netrc"))
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    for variable in ("WANDB_DATA_DIR", "WANDB_CACHE_DIR", "WANDB_CONFIG_DIR"):
        monkeypatch.setenv(variable, str(directory))
    monkeypatch.setenv("WANDB_SILENT", "true")


def kept_beside(directory: Path) -> dict[int, str]:
    return {int(path.stem.removeprefix("step-")): path.read_text() for path in directory.glob("reports/step-*.html")}


def read_csv(directory: Path) -> Logged:
    with (directory / "muster.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    found = {name: {int(row["step"]): float(row[name]) for row in rows if row[name]} for name in FIGURES}
    links = {int(row["step"]): row["page"] for row in rows if row["page"]}
    return Logged({name: steps for name, steps in found.items() if steps}, links, kept_beside(directory))


def read_tensorboard(directory: Path) -> Logged:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(str(directory))
    found.Reload()
    names = [tag for tag in found.Tags()["scalars"] if tag.startswith("muster/")]
    links = found.Tensors("muster/page") if "muster/page" in found.Tags()["tensors"] else []
    texts = {event.step: event.tensor_proto.string_val[0].decode() for event in links}
    assert all(re.fullmatch(r"\[(.*)\]\(\1\)", text) for text in texts.values())
    return Logged(
        {name.removeprefix("muster/"): {event.step: event.value for event in found.Scalars(name)} for name in names},
        {step: text.partition("](")[0].removeprefix("[") for step, text in texts.items()},
        kept_beside(directory),
    )


def read_wandb(directory: Path) -> Logged:
    """The records of the offline run, as the library's own command prints them, and the files that wait to be sent."""
    (path,) = directory.glob("wandb/offline-run-*/run-*.wandb")
    command = [sys.executable, "-m", "wandb", "leet", "inspect", "--json", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=HANG_SECONDS)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    items = [record["history"]["item"] for record in records if record["type"] == "history"]
    artifacts = [record["artifact"] for record in records if record["type"] == "artifact"]

    def values(name: str) -> dict[int, Any]:
        return {item["muster/step"]: item[f"muster/{name}"] for item in items if f"muster/{name}" in item}

    return Logged(
        {name: values(name) for name in FIGURES if values(name)},
        values("page"),
        {
            int(artifact["name"].removeprefix("muster-")): Path(file["local_path"]).read_text()
            for artifact in artifacts
            for file in artifact["manifest"]["contents"]
        },
    )


def read_mlflow(_directory: Path) -> Logged:
    import mlflow

    client = mlflow.MlflowClient()
    experiment = client.get_experiment_by_name("muster")
    assert experiment is not None
    (run,) = client.search_runs([experiment.experiment_id])
    assert run.info.status == "FINISHED"
    prefix = "muster/page/"
    files = [
        file.path
        for folder in client.list_artifacts(run.info.run_id, "muster")
        for file in client.list_artifacts(run.info.run_id, folder.path)
    ]
    names = [name.removeprefix("muster/") for name in run.data.metrics]
    return Logged(
        {name: {m.step: m.value for m in client.get_metric_history(run.info.run_id, f"muster/{name}")} for name in names},
        {int(tag.removeprefix(prefix)): url for tag, url in run.data.tags.items() if tag.startswith(prefix)},
        {int(file.split("/")[1]): Path(client.download_artifacts(run.info.run_id, file)).read_text() for file in files},
    )


def read_aim(_directory: Path) -> Logged:
    from aim import Repo, Run

    # By its name, and not only to be read: Aim's index has it once Aim's own server has looked.
    (name,) = Repo(".").list_all_runs()
    run = Run(name, repo=".", system_tracking_interval=None)
    found: dict[str, dict[int, float]] = {}
    for metric, context, _ in run.iter_metrics_info():
        steps, (values, *_) = run.get_metric(metric, context).data.items_list()
        found[metric.removeprefix("muster/")] = dict(zip(steps, values, strict=True))
    links = {int(key.rpartition("/")[2]): url for key, url in run[...].items() if key.startswith("muster/page/")}
    documents = {int(key.split("/")[1]): Path(kept.uri.removeprefix("file://")).read_text() for key, kept in run.artifacts.items()}
    run.close()
    return Logged(found, links, documents)


READERS: Mapping[str, Callable[[Path], Logged]] = {
    "csv": read_csv,
    "tensorboard": read_tensorboard,
    "wandb": read_wandb,
    "mlflow": read_mlflow,
    "aim": read_aim,
}

"""What `muster eval`, `muster watch` and the callback log, in all places at once: figures, verdict, report page, link."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import pytest
import torch
from stable_baselines3 import PPO

from muster.sb3 import MusterCallback
from muster.sinks.named_sinks import SinkName
from muster.training.record import Record
from tests.logged import READERS, stay_offline
from tests.real_server import GAME, HANG_SECONDS, REPOSITORY, RealServer

torch.set_num_threads(1)
SUITE = str(GAME / "cartpole.yaml")
FLAGS = [flag for name in ("tensorboard:logs", "wandb:logs", "mlflow", "aim", "csv:logs") for flag in ("--log", name)]
CERTIFIED = ("mean", "low", "high", "half_width", "episodes", "better", "regress")
Figures = Mapping[str, float]


@pytest.fixture(autouse=True)
def all_stay_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stay_offline(tmp_path, monkeypatch)


def muster(*arguments: str) -> str:
    environment = {**os.environ, "MUSTER_LOG_PYTHON": sys.executable}
    command = [str(REPOSITORY / "muster"), *arguments, "--episodes", "32", *FLAGS, "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=HANG_SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def checkpoints(directory: Path) -> list[Path]:
    """The later one is better by far."""
    directory.mkdir()
    named = {"early": directory / "step-100.safetensors", "late": directory / "step-200.safetensors"}
    for name, path in named.items():
        shutil.copyfile(GAME / "checkpoints" / f"{name}.safetensors", path)
    return list(named.values())


def figures_of(score: Mapping[str, Any], standing: str) -> Figures:
    low, high = score["interval"]["low"], score["interval"]["high"]
    verdict = {"better": float(standing in ("first", "better")), "regress": float(standing == "worse")}
    return {"mean": score["mean"], "low": low, "high": high, "half_width": (high - low) / 2, "episodes": score["episodes"], **verdict}


def assert_logged(directory: Path, expected: Mapping[int, Figures], links: Mapping[int, str]) -> None:
    found = {name: read(directory) for name, read in READERS.items()}
    assert set(found) == set(get_args(SinkName))
    pages = found["csv"].documents
    assert {step for step, figures in expected.items() if f"{figures['mean']:.0f}" in pages[step]} == set(expected)
    for name, logged in found.items():
        assert (name, logged.links, logged.documents) == (name, links, pages)
        for figure in CERTIFIED:
            # TensorBoard keeps float32.
            assert logged.figures[figure] == pytest.approx({step: figures[figure] for step, figures in expected.items()}), (name, figure)


def test_each_checkpoint_of_an_evaluation_is_logged_with_its_verdict(tmp_path: Path) -> None:
    named = [flag for path in checkpoints(tmp_path / "run") for flag in ("--checkpoint", str(path))]
    first, second = (summary["official"] for summary in json.loads(muster("eval", SUITE, *named))["summaries"])
    assert second["interval"]["low"] > first["interval"]["high"]
    assert_logged(Path("logs"), {100: figures_of(first, "first"), 200: figures_of(second, "better")}, {})


def test_each_checkpoint_of_a_watched_run_is_logged_with_its_verdict(tmp_path: Path) -> None:
    checkpoints(tmp_path / "run")
    told = muster("watch", "run", "--suite", SUITE, "--once", "--every", "0.2", "--stale", "evaluate")
    events = [event for event in map(json.loads, told.splitlines()) if event["event"] == "evaluated"]
    expected = {int(event["name"][5:8]): figures_of(event["score"], event["standing"]) for event in events}
    assert {event["standing"] for event in events} in ({"first", "better"}, {"first", "worse"})
    assert_logged(Path("logs"), expected, {})


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    with RealServer(tmp_path_factory.mktemp("muster")) as server:
        yield server


def test_each_checkpoint_of_a_training_is_logged_with_its_estimate_and_link(server: RealServer) -> None:
    names, few = list(get_args(SinkName)), {"rule": "fixed", "episodes": 24}
    callback = MusterCallback(SUITE, every=256, log=names, directory="run", server=server.url, busy="wait", stop=few)
    PPO("MlpPolicy", "CartPole-v1", n_steps=128, batch_size=64, device="cpu", seed=1).learn(512, callback=callback)
    first, second = Record(Path("run")).scores()
    standing = "better" if second.low > first.high else "worse" if second.high < first.low else "undecided"
    scored = ((first, "first"), (second, standing))
    expected = {
        score.step: figures_of({**score.as_json(), "interval": {"low": score.low, "high": score.high}}, found) for score, found in scored
    }
    assert set(expected) == {256, 512}
    assert_logged(Path("run"), expected, {score.step: f"{server.url}/evaluations/{score.evaluation}" for score in (first, second)})
    for name, read in READERS.items():
        assert set(read(Path("run")).figures["estimate"]) == {256, 512}, name

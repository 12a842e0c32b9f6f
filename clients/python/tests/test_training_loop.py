"""The training loops of examples/, with the real PyTorch and the real Keras: a few updates, against a server whose answers are known."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import muster
from muster.training.evaluator import TrainingEvaluator
from muster.training.periodic import PeriodicEvaluator
from muster.training.settings import STOPS
from muster_client import InvalidArgument
from tests.fake_server import FakeMuster
from tests.faults import Answer
from tests.full_form import IS_FULL_FORM
from tests.real_server import HANG_SECONDS
from tests.samples import comparison, evaluation, events_of, problem, summary

REPOSITORY = Path(__file__).parents[3]


@dataclass(frozen=True)
class Loop:
    """A training loop, and the Python that has its framework."""

    name: str
    module: str
    python: Path

    @property
    def case(self) -> Any:
        """Where the framework is missing it is skipped, but not in CI, whose set-up has installed it."""
        is_missing = not self.python.exists() and "CI" not in os.environ
        return pytest.param(self, id=self.name, marks=pytest.mark.skipif(is_missing, reason=f"no {self.python}: see scripts/setup.mjs"))


def _loop(name: str, module: str, environment: str) -> Loop:
    return Loop(name, f"examples.{module}", REPOSITORY / environment / "bin" / "python")


LOOPS = [_loop("cartpole-torch", "training_loop", ".venv-torch").case, _loop("cartpole-keras", "training_loop_keras", ".venv-keras").case]
SAMPLE = LOOPS if IS_FULL_FORM else LOOPS[:1]
"""For what does not depend on the framework. TensorFlow takes eight seconds of a processor to start."""


def answers(fake: FakeMuster, lows: list[float], verdicts: list[str]) -> None:
    """The ends of the evaluations' intervals, and the verdicts of comparisons, in turn."""

    def next_evaluation(id: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        if fake.asked[-1].path == "/v1/comparisons":
            return evaluation(id, kind="comparison", summary=comparison(verdicts.pop(0))), events_of(id)
        document, low = summary(), lows.pop(0)
        document["official"] |= {"mean": low + 20, "interval": {**document["official"]["interval"], "low": low, "method": "certified"}}
        return evaluation(id, summary=document), events_of(id)

    fake.next_evaluation = next_evaluation


def run(loop: Loop, url: str, out: Path, updates: int) -> subprocess.CompletedProcess[str]:
    command = [str(loop.python), "-m", loop.module, "--out", str(out), "--target", "450", "--updates", str(updates)]
    # TensorFlow says on stderr what it makes of the processor.
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0"}
    environment = {"PATH": os.environ["PATH"], "MUSTER_URL": url, "PYTHONPATH": f"{REPOSITORY}:{REPOSITORY}/clients/python/src", **quiet}
    return subprocess.run(command, env=environment, cwd=REPOSITORY, capture_output=True, text=True, timeout=HANG_SECONDS, check=False)


@pytest.mark.parametrize("loop", LOOPS)
def test_the_loop_keeps_each_new_best_checkpoint_and_ends_when_the_target_is_certified(
    loop: Loop, fake: FakeMuster, url: str, tmp_path: Path
) -> None:
    answers(fake, lows=[100, 200, 150, 460], verdicts=["promote", "regress", "promote"])
    done = run(loop, url, tmp_path, updates=5)
    assert done.returncode == 0, done.stderr

    digests = [asked.json["checkpoint"]["sha256"] for asked in fake.requests("POST", "/v1/evaluations")]
    assert len(set(digests)) == 4
    assert list(fake.checkpoints) == digests
    compared = [asked.json for asked in fake.requests("POST", "/v1/comparisons")]
    pairs = [(digests.index(c["baseline"]["sha256"]), digests.index(c["candidates"][0]["sha256"])) for c in compared]
    assert pairs == [(0, 1), (1, 2), (1, 3)]

    first = fake.requests("POST", "/v1/evaluations")[0].json
    assert first["stop"] == {"rule": "certified", "halfWidth": 25, "confidence": 0.99}
    assert (first["suite"], first["checkpoint"]["run"]) == ("cartpole", loop.name)
    assert first["checkpoint"]["version"] >= 2048
    assert "mean 120.0 [100.0, 500.0]" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("a mean of 450 is certified after")
    weights = fake.checkpoints[digests[0]]
    header = json.loads(weights[8 : 8 + int.from_bytes(weights[:8], "little")])
    assert header["l0.weight"]["shape"] == [64, 4]
    assert json.loads(header["__metadata__"]["muster"])["format"] == "muster-mlp/1"


@pytest.mark.parametrize("loop", SAMPLE)
def test_the_exit_code_says_that_the_target_was_not_reached(loop: Loop, fake: FakeMuster, url: str, tmp_path: Path) -> None:
    answers(fake, lows=[100], verdicts=[])
    done = run(loop, url, tmp_path, updates=1)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("loop", SAMPLE)
def test_the_loop_reports_why_it_could_not_evaluate(loop: Loop, fake: FakeMuster, url: str, tmp_path: Path) -> None:
    fake.break_down("POST", "/v1/evaluations", Answer(403, problem(403, "access.role", "the token is a viewer's; expected a submitter's")))
    done = run(loop, url, tmp_path, updates=1)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.splitlines()[-1] == f"{loop.name}: the token is a viewer's; expected a submitter's (403 access.role)"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"every": "10"}, "every: expected a whole number of steps, 1 or more, got '10'"),
        ({"suite": "cartpol.yaml"}, r"suite: cartpol\.yaml cannot be read"),
        ({"suite": "policy.zip"}, "suite: policy.zip has the name of a checkpoint's file"),
        ({"server": "localhost:7677"}, r"url: .*did you mean http://localhost:7677\?"),
        ({"until": "475"}, "until: expected a return, a number, got '475'"),
        ({"until": float("nan")}, "until: expected a return, a number, got nan"),
        ({"stop": "fixed"}, "stop: expected a mapping such as .*, got 'fixed'"),
        ({"stop": {"rule": "fixd", "episodes": 200}}, "stop: rule: expected one of fixed, certified, .*, got 'fixd'"),
        ({"stop": {"rule": "fixed", "halfWidth": 5}}, "stop: 'halfWidth' does not go with rule 'fixed'; expected episodes, confidence"),
        ({"stop": {"rule": "certified"}}, "stop: halfWidth: expected a number above 0, got None"),
    ],
)
def test_an_argument_of_a_callback_that_cannot_be_used_is_refused_before_the_training(given: Any, says: str) -> None:
    options = {"suite": "cartpole", "every": 10, **given}
    with pytest.raises(InvalidArgument, match=says):
        PeriodicEvaluator(**options)


def test_stopping_rules_are_those_of_the_schema() -> None:
    schema = json.loads((REPOSITORY / "docs/schemas/suite.schema.json").read_text())["properties"]["stop"]["oneOf"]
    for rule in schema:
        name = rule["properties"].pop("rule")["const"]
        assert set(STOPS[name]) == set(rule["properties"])
        assert STOPS[name][:1] == tuple(key for key in rule["required"] if key != "rule")
    assert len(STOPS) == len(schema)


class Weights:
    suffix = ".safetensors"

    def write(self, path: Path) -> None:
        path.write_bytes(b"weights")


def test_the_end_of_a_training_says_at_once_that_its_server_does_not_answer(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    monkeypatch.setattr("muster.training.evaluator.GONE_SECONDS", 0.1)
    monkeypatch.setattr("muster.training.serving.PATIENCE_SECONDS", 0.0)
    evaluator = TrainingEvaluator("cartpole", directory=tmp_path, server="http://127.0.0.1:1")
    assert evaluator.checkpoint(1, Weights)
    assert evaluator.finish() is None
    said = [record.getMessage() for record in caplog.records if record.name == "muster"]
    patterns = ["step 1 waits for a server: ", "the server does not answer; after 0.1 s ", "evaluations are unfinished"]
    assert [text.startswith(pattern) for text, pattern in zip(said, patterns, strict=True)] == [True] * 3


def test_a_misspelt_keyword_beside_a_training_is_named_with_the_one_that_was_meant() -> None:
    for entrance in (PeriodicEvaluator, TrainingEvaluator):
        with pytest.raises(TypeError, match="'bsy'; did you mean 'busy'"):
            entrance("cartpole", **{"every": 10, "bsy": "wait"} if entrance is PeriodicEvaluator else {"bsy": "wait"})
    with pytest.raises(TypeError, match=r"evaluate\(\) got .*'suit'; did you mean 'suite'"):
        muster.evaluate("policy.safetensors", suit="cartpole.yaml")  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"serve\(\) got .*'stat'; did you mean 'state'"):
        muster.serve(stat=".")  # type: ignore[call-arg]

"""Writes a log of inspect_ai in the form that its viewer reads, with one score for each sample: `inspect_log.py SAMPLES FILE`."""

import sys

from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalLog,
    EvalMetric,
    EvalPlan,
    EvalResults,
    EvalSample,
    EvalScore,
    EvalSpec,
    EvalStats,
    write_eval_log,
)
from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, ModelOutput
from inspect_ai.scorer import Score

MOMENT = "2026-01-01T00:00:00+00:00"


def sample(index: int) -> EvalSample:
    """Makes a sample with the same return as the episode of that index in the benchmark's server."""
    text = f"episode {index}"
    messages = [ChatMessageUser(content=text), ChatMessageAssistant(content="done")]
    scores = {"return": Score(value=100 + (index * 7919) % 400)}
    output = ModelOutput.from_content("mock/model", "done")
    return EvalSample(id=index, epoch=1, input=text, target="", messages=messages, output=output, scores=scores)


def main(samples: int, file: str) -> None:
    """Writes the log."""
    mean = EvalMetric(name="mean", value=300)
    log = EvalLog(
        status="success",
        eval=EvalSpec(
            created=MOMENT,
            task="simulated",
            dataset=EvalDataset(name="simulated", samples=samples),
            model="mock/model",
            config=EvalConfig(),
        ),
        plan=EvalPlan(),
        results=EvalResults(
            total_samples=samples,
            completed_samples=samples,
            scores=[EvalScore(name="return", scorer="return", metrics={"mean": mean})],
        ),
        stats=EvalStats(started_at=MOMENT, completed_at=MOMENT),
        samples=[sample(index) for index in range(samples)],
    )
    write_eval_log(log, file)


main(int(sys.argv[1]), sys.argv[2])

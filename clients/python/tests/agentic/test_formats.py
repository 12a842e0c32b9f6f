"""What `muster rollouts export` writes is read by the real packages that it is for."""

import importlib.util
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from harbor.models.job.result import JobStats
from harbor.utils.trajectory_validator import TrajectoryValidator
from harbor.viewer.scanner import JobScanner
from verl.experimental.agent_loop.agent_loop import AgentLoopOutput

from tests.kept_record import keep_record
from tests.real_server import REPOSITORY


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return keep_record(tmp_path_factory.mktemp("kept"))


def exported(kept: Path, form: str) -> list[dict[str, Any]]:
    command = [str(REPOSITORY / "muster"), "rollouts", "export", str(kept), "--format", form]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_harbor_reads_an_exported_atif_file(kept: Path) -> None:
    (line,) = exported(kept, "atif")
    validator = TrajectoryValidator()
    assert validator.validate(line), validator.get_errors()
    assert [step["source"] for step in line["steps"]] == ["system", "user", "agent", "agent"]


def test_harbor_reads_an_exported_job_with_rollouts(kept: Path, tmp_path: Path) -> None:
    command = [str(REPOSITORY / "muster"), "rollouts", "export", str(kept), "--format", "harbor", "--out", str(tmp_path / "jobs-of-muster")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    jobs = JobScanner(tmp_path)
    (job,) = jobs.list_jobs()
    (name,) = jobs.list_trials(job)
    written, trial = jobs.get_job_result(job), jobs.get_trial_result(job, name)
    assert written is not None and trial is not None
    assert jobs.get_job_config(job) is not None and jobs.get_trial_config(job, name) is not None
    assert (trial.task_name, trial.verifier_result.rewards) == ("test/answer", {"gate": 1, "correctness": 0.5, "reward": 0.5})
    # What Harbor computes of the trials is what the job says.
    computed = JobStats.from_trial_results([trial])
    said = written.stats.evals["muster__org/policy__adhoc"]
    assert said.reward_stats["reward"] == computed.evals["muster__org/policy__adhoc"].reward_stats["reward"] == {0.5: [name]}
    assert (written.stats.n_input_tokens, written.stats.n_output_tokens) == (computed.n_input_tokens, computed.n_output_tokens) == (3, 2)
    assert [detail["prompt_token_ids"] for detail in trial.agent_result.rollout_details] == [[[5, 6, 7]], [[5, 6, 8, 10]]]
    assert [detail["logprobs"] for detail in trial.agent_result.rollout_details] == [[[-0.5, -0.25]], [[-1, -0.125]]]
    trajectory = tmp_path / job / name / "agent" / "trajectory.json"
    assert TrajectoryValidator().validate(json.loads(trajectory.read_text()))
    assert json.loads((tmp_path / job / name / "verifier" / "reward.json").read_text()) == trial.verifier_result.rewards


def test_verl_reads_one_output_for_each_segment(kept: Path) -> None:
    outputs = [AgentLoopOutput(**line) for line in exported(kept, "verl")]
    assert [(output.prompt_ids, output.response_ids, output.response_mask) for output in outputs] == [
        ([5, 6, 7], [8, 9], [1, 1]),
        ([5, 6, 8, 10], [11, 9], [1, 1]),
    ]
    assert [output.response_logprobs for output in outputs] == [[-0.5, -0.25], [-1, -0.125]]
    assert [output.reward_score for output in outputs] == [0.5, 0.5]
    assert outputs[0].as_dict()["responses"].tolist() == [8, 9]


@pytest.mark.skipif(importlib.util.find_spec("slime") is None, reason="slime is on no registry; its source is to be on the path")
def test_slime_reads_one_sample_for_each_segment(kept: Path) -> None:
    from slime.utils.types import Sample

    samples = [Sample.from_dict(line) for line in exported(kept, "slime")]
    for sample in samples:
        sample._validate_response_metadata_lengths()
    assert [(sample.tokens, sample.response_length, sample.loss_mask) for sample in samples] == [
        ([5, 6, 7, 8, 9], 2, [1, 1]),
        ([5, 6, 8, 10, 11, 9], 2, [1, 1]),
    ]
    assert [(sample.reward, sample.status, sample.rollout_log_probs) for sample in samples] == [
        (0.5, Sample.Status.COMPLETED, [-0.5, -0.25]),
        (0.5, Sample.Status.COMPLETED, [-1, -0.125]),
    ]


def test_trl_reads_exported_messages(kept: Path) -> None:
    from datasets import Dataset
    from trl import is_conversational

    (line,) = exported(kept, "messages")
    assert is_conversational(line)
    assert Dataset.from_list([{"messages": json.dumps(line["messages"])}]).num_rows == 1
    assert [message["role"] for message in line["messages"]] == ["system", "user", "assistant", "tool", "assistant", "tool"]

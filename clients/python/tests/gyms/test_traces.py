"""Verifiers reads the output of `muster rollouts export --format verifiers` like the traces that it saves itself."""

import subprocess
from pathlib import Path

from verifiers.v1.configs.agent import AgentConfig
from verifiers.v1.state import State
from verifiers.v1.task import WireTaskData
from verifiers.v1.trace import Trace
from verifiers.v1.utils.trace_store import TRACES_FILE, read_episodes

from tests.kept_record import RECORD, keep_record
from tests.real_server import REPOSITORY


def test_verifiers_takes_an_episode_with_a_branch_for_each_segment(tmp_path: Path) -> None:
    command = [str(REPOSITORY / "muster"), "rollouts", "export", str(keep_record(tmp_path)), "--format", "verifiers"]
    done = subprocess.run([*command, "--out", str(tmp_path / TRACES_FILE)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (episode,) = read_episodes(tmp_path, Trace[WireTaskData, State, AgentConfig])
    (trace,) = episode.traces
    assert (episode.ok, episode.env.id, episode.group and episode.group.id, trace.task.data.name) == (
        True,
        "muster",
        "ro-1.0",
        "test/answer",
    )
    assert trace.reward == 0.5 and trace.metrics == RECORD["components"]
    for branch, segment in zip(trace.branches, RECORD["segments"], strict=True):
        assert branch.token_ids == segment["ids"]
        assert branch.sampled_mask == [mask == 1 for mask in segment["lossMask"]]
        assert branch.logprobs == segment["logprobs"]
    assert [(call.node, call.finish_reason) for call in trace.calls] == [(2, "tool_calls"), (7, "tool_calls")]
    assert trace.num_output_tokens == 4

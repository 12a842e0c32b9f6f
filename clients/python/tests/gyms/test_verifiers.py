"""Verifiers' own evaluation, harness and server of tools play a task of a real server of Muster."""

import asyncio
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from verifiers.v1.cli.eval.runner import run_eval
from verifiers.v1.configs.cli.eval import EvalConfig

from muster_client import Client
from tests.gyms.conftest import SOLUTION, TASK
from tests.real_server import SPOILT

CALLS = [
    ("run", {"command": "ls"}),
    ("write_file", {"file": "sorting.py", "content": SOLUTION}),
    ("submit", {}),
]


@pytest.fixture
def model() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server of chat completions whose model solves the task. Its address, and what it was asked."""
    asked: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            asked.append(body)
            turn = sum(message["role"] == "assistant" for message in body["messages"])
            delta: dict[str, Any] = {"role": "assistant", "content": "Done."}
            if turn < len(CALLS):
                name, arguments = CALLS[turn]
                function = {"name": name, "arguments": json.dumps(arguments)}
                delta = {"role": "assistant", "tool_calls": [{"index": 0, "id": f"c{turn}", "type": "function", "function": function}]}
            reason = "tool_calls" if turn < len(CALLS) else "stop"
            # The harness asks for a stream.
            chunk = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": body["model"]}
            chunks = [
                {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
                {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
                {**chunk, "choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}},
            ]
            text = "".join(f"data: {each}\n\n" for each in [*map(json.dumps, chunks), "[DONE]"]).encode()
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, format: str, *args: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1", asked
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def play(server: str, model: tuple[str, list[dict[str, Any]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """An episode of verifiers on a task. A server of Muster is there."""
    assert server
    (tmp_path / "my_tasks.py").write_text('from muster.verifiers import MusterTaskset\n\n__all__ = ["MusterTaskset"]\n')
    monkeypatch.syspath_prepend(str(tmp_path))
    # Its harnesses are made by uv.
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")

    def run(task: str) -> Any:
        agent = {"harness": {"id": "null"}, "runtime": {"type": "subprocess"}}
        config = EvalConfig.model_validate(
            {
                "env": {"taskset": {"id": "my-tasks", "tasks": [task]}, "agent": agent},
                "model": "m",
                "client": {"base_url": model[0], "api_key_var": "NO_SUCH_KEY"},
                "push": False,
                "rich": None,
                "output_dir": str(tmp_path / "out"),
            }
        )
        (episode,) = asyncio.run(run_eval(config))
        return episode

    return run


def test_a_taskset_is_played_by_a_harness_and_rewarded_by_muster(
    server: str, model: tuple[str, list[dict[str, Any]]], play: Callable[[str], Any]
) -> None:
    asked = model[1]
    episode = play(TASK)
    assert episode.ok, [trace.errors for trace in episode.traces]
    (trace,) = episode.traces
    assert {name: reward and reward.score for name, reward in trace.rewards.items()} == {"muster": 1.0}
    assert {"run", "write_file", "submit"} <= {tool["function"]["name"] for tool in asked[0]["tools"]}
    heard = [message["content"] for message in asked[-1]["messages"] if message["role"] == "tool"]
    assert "sorting.py" in str(heard[0]) and len(heard) == len(CALLS)
    with Client(server) as client:
        assert [(each.steps, each.reward) for each in client.arena.list(agent="verifiers", least_reward=1)] == [(3, 1.0)]


def test_an_episode_without_a_verdict_is_a_trace_with_an_error_and_no_reward(server: str, play: Callable[[str], Any]) -> None:
    episode = play(SPOILT)
    (trace,) = episode.traces
    assert not episode.ok
    assert "the disk is full" in str(trace.errors)
    assert trace.rewards.get("muster") is None
    with Client(server) as client:
        assert {each.outcome for each in client.arena.list(agent="verifiers") if each.task.endswith(SPOILT)} == {"void"}

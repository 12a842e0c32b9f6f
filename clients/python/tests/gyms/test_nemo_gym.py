"""A resources server of NeMo Gym, as its agents call it."""

from typing import Any
from unittest.mock import MagicMock

import pytest
from fastapi.testclient import TestClient
from nemo_gym.openai_utils import NeMoGymResponseCreateParamsNonStreaming
from nemo_gym.server_utils import ServerClient

from muster.nemo_gym import MusterResourcesServer, MusterResourcesServerConfig, make_rows
from muster_client import Client
from tests.gyms.conftest import SOLUTION, TASK
from tests.real_server import SPOILT

RESPONSE = {
    "id": "resp-1",
    "created_at": 0,
    "model": "m",
    "object": "response",
    "output": [],
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
}


@pytest.fixture
def resources() -> MusterResourcesServer:
    config = MusterResourcesServerConfig(host="127.0.0.1", port=0, entrypoint="", name="muster", most_sessions=2, idle_seconds=60)
    return MusterResourcesServer(config=config, server_client=MagicMock(spec=ServerClient))


@pytest.fixture
def gym(resources: MusterResourcesServer) -> TestClient:
    return TestClient(resources.setup_webserver())


@pytest.fixture
def row(server: str) -> dict[str, Any]:
    with Client(server) as client:
        (row,) = make_rows(client, [TASK], agent="muster_simple_agent")
        assert next((each.state, each.outcome) for each in client.arena.list(agent="nemo-gym")) == ("closed", "void")
    return row


def test_each_session_is_an_episode_and_gets_its_reward(gym: TestClient, row: dict[str, Any]) -> None:
    params = NeMoGymResponseCreateParamsNonStreaming.model_validate(row["responses_create_params"])
    assert {"run", "write_file", "submit"} <= {tool["name"] for tool in params.tools}
    assert "sort_records" in row["responses_create_params"]["input"][0]["content"]
    assert gym.post("/seed_session", json=row).json() == {}
    assert "sorting.py" in gym.post("/run", json={"command": "ls"}).text
    assert "malformed" in gym.post("/write_file", content="{no JSON").text
    gym.post("/write_file", json={"file": "sorting.py", "content": SOLUTION})
    verified = gym.post("/verify", json={**row, "response": RESPONSE})
    assert (verified.status_code, verified.json()["reward"], verified.json()["task"]) == (200, 1.0, TASK)
    counted = {**verified.json(), "_ng_task_index": 0, "_ng_rollout_index": 0}
    metrics = gym.post("/aggregate_metrics", json={"verify_responses": [counted]})
    assert metrics.status_code == 200, metrics.text


def test_a_session_without_an_episode_is_refused_and_another_one_is_not_touched(gym: TestClient, row: dict[str, Any]) -> None:
    assert gym.post("/seed_session", json={}).status_code == 422
    refused = gym.post("/run", json={"command": "ls"})
    why = "this session has no episode, or was idle for too long; POST /seed_session with a task begins one"
    assert (refused.status_code, refused.json()["detail"]) == (409, why)
    gym.post("/seed_session", json=row)
    other = TestClient(gym.app)
    assert other.post("/verify", json={**row, "response": RESPONSE}).status_code == 409
    assert gym.post("/verify", json={**row, "response": RESPONSE}).json()["reward"] < 1


def test_an_episode_without_a_verdict_gets_no_reward_rather_than_0(gym: TestClient, row: dict[str, Any]) -> None:
    spoilt = {**row, "task": SPOILT}
    assert gym.post("/seed_session", json=spoilt).status_code == 200
    refused = gym.post("/verify", json={**spoilt, "response": RESPONSE})
    assert refused.status_code == 503 and "the disk is full" in refused.json()["detail"]
    assert gym.post("/verify", json={**spoilt, "response": RESPONSE}).status_code == 409


def test_abandoned_sessions_end_and_sessions_beyond_the_bound_are_refused(
    server: str, resources: MusterResourcesServer, gym: TestClient, row: dict[str, Any]
) -> None:
    now = 0.0
    resources._clock = lambda: now
    left, used, third = gym, TestClient(gym.app), TestClient(gym.app)
    assert [each.post("/seed_session", json=row).status_code for each in (left, used)] == [200, 200]
    now = 59.0
    assert "sorting.py" in used.post("/run", json={"command": "ls"}).text
    refused = third.post("/seed_session", json=row)
    assert (refused.status_code, refused.json()["detail"].split(";")[0]) == (503, "there are 2 sessions")
    now = 61.0
    assert third.post("/seed_session", json=row).status_code == 200
    # One that begins anew leaves nothing open behind.
    assert third.post("/seed_session", json=row).status_code == 200
    assert left.post("/run", json={"command": "ls"}).status_code == 409
    with Client(server) as client:
        assert sum(each.state == "open" for each in client.arena.list(agent="nemo-gym")) == 2
    for each in (used, third):
        assert each.post("/verify", json={**row, "response": RESPONSE}).json()["reward"] < 1

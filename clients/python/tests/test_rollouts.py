"""Groups for a training: acknowledged on the next turn of the loop, and never before."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from muster_client import InvalidArgument, LeaseLost, Retry, RolloutsFailed, Segment, rollouts
from muster_client.effects import Done, Emit, Exchange, Items, Request, Response, Steps, Work, resume
from muster_client.settings import Settings

SETTINGS = Settings(url="http://muster", token=None, timeout=5, retry=Retry(), now=lambda: 0.0, draw=lambda: 0.0)

STREAM = {"id": "ro-1", "policy": "m", "state": "running", "problem": None, "groups": {"begun": 3, "ready": 2}}


def group(number: int, lease: int = 1) -> dict[str, Any]:
    segment = {"ids": [1, 2], "lossMask": [0, 1], "logprobs": [0, -0.5], "versions": [-1, 3]}
    trajectory = {"trajectory": f"ro-1.{number}-0", "reward": 1, "status": "completed", "segments": [segment]}
    statistics = {"size": 1, "mean": 1, "staleness": 0, "advantages": [0.5]}
    return {"group": f"ro-1.{number}", "lease": lease, "task": "t", "taskSeed": 7, "trajectories": [trajectory], **statistics}


def answer(*groups: dict[str, Any], state: str = "running", problem: str | None = None) -> dict[str, Any]:
    return {"items": list(groups), "state": state, "problem": problem}


def acknowledged(number: int, result: str = "acknowledged") -> dict[str, Any]:
    return {"items": [{"group": f"ro-1.{number}", "result": result}]}


class Answering:
    """Gives a call the answers of a server, and keeps what was asked."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self._answers = list(answers)
        self.asked: list[Request] = []

    def items(self, call: Items[Any]) -> Iterator[Any]:
        step = resume(call)
        while not isinstance(step, Done):
            if isinstance(step, Emit):
                yield step.item
                step = resume(call)
            else:
                step = resume(call, self._reply(step))
        self.value = step.value

    def run(self, call: Steps[Any]) -> Any:
        assert list(self.items(call)) == []
        return self.value

    def _reply(self, effect: Any) -> Any:
        if isinstance(effect, Work):
            return effect.call()
        assert isinstance(effect, Exchange)
        self.asked.append(effect.request)
        return Response(200, {}, json.dumps(self._answers.pop(0)).encode())

    @property
    def paths(self) -> list[str]:
        return [f"{request.method} {request.path.split('?')[0]}" for request in self.asked]

    @property
    def bodies(self) -> list[Any]:
        return [json.loads(request.body) for request in self.asked if request.body is not None]


def test_each_group_is_acknowledged_when_the_next_one_is_requested() -> None:
    server = Answering(
        answer(group(0)), acknowledged(0), answer(), STREAM, answer(group(1, lease=4)), acknowledged(1), answer(state="completed")
    )
    groups = server.items(rollouts._groups(SETTINGS, "ro-1", 30))
    first = next(groups)
    (trajectory,) = first.trajectories
    assert (first.id, first.task_seed, trajectory.reward, trajectory.advantage) == ("ro-1.0", 7, 1.0, 0.5)
    assert trajectory.segments == [Segment([1, 2], [0, 1], [0, -0.5], [-1, 3])]
    assert server.paths == ["GET /v1/rollouts/ro-1/groups"]
    assert "lease=30" in server.asked[0].path
    assert [found.id for found in groups] == ["ro-1.1"]
    assert server.bodies == [{"groups": [{"group": "ro-1.0", "lease": 1}]}, {"groups": [{"group": "ro-1.1", "lease": 4}]}]


def test_a_batch_is_acknowledged_as_one_and_the_last_may_be_smaller() -> None:
    both = {"items": [*acknowledged(0)["items"], *acknowledged(1)["items"]]}
    over = answer(state="completed")
    server = Answering(answer(group(0)), answer(group(1)), both, answer(group(2)), over, acknowledged(2), over)
    batches = [[found.id for found in batch] for batch in server.items(rollouts._deliver_batches(SETTINGS, "ro-1", 2, 600))]
    assert batches == [["ro-1.0", "ro-1.1"], ["ro-1.2"]]
    again = answer(group(0, lease=2))
    server = Answering(answer(group(0)), again, answer(group(1)), both, answer(state="completed"))
    batches = [[found.id for found in batch] for batch in server.items(rollouts._deliver_batches(SETTINGS, "ro-1", 2, 1))]
    assert batches == [["ro-1.0", "ro-1.1"]]
    assert server.bodies == [{"groups": [{"group": "ro-1.0", "lease": 2}, {"group": "ro-1.1", "lease": 1}]}]
    with pytest.raises(InvalidArgument, match="size"):
        rollouts._deliver_batches(SETTINGS, "ro-1", 0, 600)


def test_a_lost_lease_and_a_failed_stream_are_raised() -> None:
    server = Answering(answer(group(0)), acknowledged(0, "late"), answer(state="failed", problem="the task is broken"))
    groups = server.items(rollouts._groups(SETTINGS, "ro-1", 600))
    next(groups)
    with pytest.raises(LeaseLost, match=r"ro-1\.0"):
        next(groups)
    with pytest.raises(RolloutsFailed, match="the task is broken"):
        list(server.items(rollouts._groups(SETTINGS, "ro-1", 600)))


def test_a_stream_is_started_with_its_terms_and_receives_versions_until_it_is_ended() -> None:
    server = Answering(STREAM, {"policy": "org/m", "version": 3, "ordinal": 1}, STREAM)
    options = {"group_size": 2, "concurrency": 4, "max_staleness": 1, "keep_filtered": True}
    stream = server.run(rollouts._start(SETTINGS, "0" * 64, "code", options))  # type: ignore[arg-type]
    assert (stream.id, stream.groups["ready"]) == ("ro-1", 2)
    server.run(rollouts._tell(SETTINGS, "org/m", 3, None))
    assert server.run(rollouts._find(SETTINGS, "DELETE", "ro-1")).id == "ro-1"
    assert server.paths == ["POST /v1/rollouts", "POST /v1/policies/org%2Fm/versions", "DELETE /v1/rollouts/ro-1"]
    terms = {"groupSize": 2, "concurrency": 4, "maxStaleness": 1, "keepFiltered": True}
    assert server.bodies == [{"suite": "code", "agent": {"sha256": "0" * 64}, **terms}, {"version": 3}]
    for wrong, says in (({"groupsize": 2}, "did you mean 'group_size'"), ({"group_size": 2}, "arguments: concurrency, max_staleness")):
        with pytest.raises(TypeError, match=says):
            server.run(rollouts._start(SETTINGS, "0" * 64, "code", wrong))  # type: ignore[arg-type]


def test_a_training_that_gets_no_groups_is_told_why(caplog: pytest.LogCaptureFixture) -> None:
    same = {**STREAM, "groups": {"begun": 84, "ready": 0, "filtered": 76, "stale": 0, "acknowledged": 0}}
    waiting = {**STREAM, "problem": "a sandbox was lost", "groups": {"begun": 8, "filtered": 0, "stale": 1, "acknowledged": 7}}
    server = Answering(answer(), same, answer(), waiting, answer(state="cancelled"))
    assert list(server.items(rollouts._groups(SETTINGS, "ro-1", 600))) == []
    first, second = caplog.messages
    assert "ro-1: no group for 20 s; 84 begun, 76 filtered" in first
    assert "keep_filtered=True" in first and "report_version" not in first
    assert "keep_filtered" not in second
    assert second.endswith("before the next report_version('m', …); a sandbox was lost")

"""The conversation itself, frame by frame."""

import json
from pathlib import Path

import pytest
from runner_process import SUITE_CODE, RunnerProcess, environment, episodes, without_time

Policy = tuple[Path, str]


def test_the_first_line_names_the_protocol() -> None:
    with RunnerProcess("--import", "gymnasium", "--import", "json") as runner:
        assert runner.receive() == {"type": "ready", "protocol": 2, "runner": "muster-python/1.1"}
        assert runner.end_input() == 0
        assert runner.rest() == []


def test_a_verified_checkpoint_is_not_read_for_its_digest(runner: RunnerProcess, any_policy: Policy) -> None:
    path, _digest = any_policy
    other = f"sha256:{64 * '0'}"
    assert runner.load(path, other, environment("toys:Toy"))["type"] == "refused"
    tasks = [{"name": "task", "environment": environment("toys:Toy")}]
    policy = {"path": str(path), "digest": other, "verified": True}
    load = {"policy": policy, "code": str(SUITE_CODE), "tasks": tasks, "actions": "deterministic", "metrics": []}
    runner.send({"type": "load", "load": 2, **load})
    assert runner.receive() == {"type": "loaded", "load": 2, "digest": other}


def test_a_load_is_answered_and_a_range_reports_its_start_before_its_outcomes(runner: RunnerProcess, any_policy: Policy) -> None:
    path, digest = any_policy
    answer = runner.load(path, digest, environment("toys:Toy", steps=3), metrics=["played", "array", "absent", "name", "infinite"])
    assert answer == {"type": "loaded", "load": 1, "digest": digest}
    (outcome,) = runner.play([(41, 0, 5, 6)])
    assert 0 <= outcome.pop("forward") <= outcome.pop("seconds") < 60
    assert outcome == {
        "type": "completed",
        "range": 1,
        "index": 41,
        "return": 3.0,
        "length": 3,
        "metrics": {"played": 3.0, "array": 0.5},
    }


def test_ranges_that_are_sent_in_advance_are_played_in_their_order(runner: RunnerProcess, any_policy: Policy) -> None:
    runner.load(*any_policy, environment("toys:Toy"))
    first = runner.send_play([(9, 0, 0, 0), (3, 0, 0, 0)])
    second = runner.send_play([(4, 0, 0, 0)])
    frames = [runner.receive() for _ in range(5)]
    assert [(frame["type"], frame["range"], frame.get("index")) for frame in frames] == [
        ("begin", first, None),
        ("completed", first, 9),
        ("completed", first, 3),
        ("begin", second, None),
        ("completed", second, 4),
    ]


def test_a_range_reports_the_policy_that_plays_it(runner: RunnerProcess, any_policy: Policy) -> None:
    _path, digest = any_policy
    runner.load(*any_policy, environment("toys:Toy"))
    runner.send_play([(0, 0, 0, 0)])
    assert runner.receive()["digest"] == digest


def test_a_ping_is_answered_between_two_episodes(runner: RunnerProcess, any_policy: Policy) -> None:
    runner.load(*any_policy, environment("toys:Toy"))
    play = json.dumps({"type": "play", "range": 1, "episodes": episodes(5)})
    ping = json.dumps({"type": "ping", "ping": 7})
    runner.send_bytes(f"{play}\n{ping}\n".encode())
    kinds = [runner.receive()["type"] for _ in range(7)]
    assert kinds.count("pong") == 1
    assert kinds.index("pong") < 3


def test_an_idle_runner_answers_a_ping(runner: RunnerProcess) -> None:
    runner.send({"type": "ping", "ping": 3})
    assert runner.receive() == {"type": "pong", "ping": 3}


def test_a_line_can_be_nearly_a_megabyte_long_and_arrive_in_pieces(runner: RunnerProcess, any_policy: Policy) -> None:
    runner.load(*any_policy, environment("toys:Toy"))
    line = json.dumps({"type": "ping", "ping": 1}).encode()
    runner.send_bytes(line[:5])
    runner.send_bytes(line[5:] + b" " * (1024 * 1024 - len(line)) + b"\n")
    assert runner.receive() == {"type": "pong", "ping": 1}


def test_a_second_load_replaces_the_first(runner: RunnerProcess, any_policy: Policy) -> None:
    runner.load(*any_policy, environment("toys:Toy", steps=3))
    runner.load(*any_policy, environment("toys:Toy", steps=4), environment("toys:Toy", steps=5))
    assert [outcome["length"] for outcome in runner.play([(0, 0, 1, 1), (1, 1, 1, 1)])] == [4, 5]


def test_the_number_of_cached_environments_is_bounded(runner: RunnerProcess, any_policy: Policy) -> None:
    runner.load(*any_policy, *(environment("toys:Toy", steps=1 + i) for i in range(70)))
    outcomes = runner.play([(0, 69, 0, 0), (1, 0, 0, 0), (2, 69, 0, 0)])
    assert [outcome["length"] for outcome in outcomes] == [70, 1, 70]


def test_wrappers_are_applied_in_their_order(runner: RunnerProcess, any_policy: Policy) -> None:
    bonus = {"entry": "toys:Bonus", "kwargs": {"bonus": 0.5}}
    limit = {"entry": "gymnasium.wrappers:TimeLimit", "kwargs": {"max_episode_steps": 4}}
    runner.load(*any_policy, environment("toys:Toy", bonus, limit, steps=100))
    (outcome,) = runner.play(episodes(1))
    assert (outcome["return"], outcome["length"]) == (6.0, 4)


def test_the_end_of_the_input_ends_the_runner_at_the_next_episode(runner: RunnerProcess, any_policy: Policy) -> None:
    runner.load(*any_policy, environment("toys:Toy"))
    runner.send_play(episodes(4000))
    assert runner.receive()["type"] == "begin"
    assert runner.end_input() == 0
    assert len(runner.rest()) < 4000


@pytest.mark.parametrize(
    "line",
    [
        b"nonsense",
        b"[]",
        b'{"type":"hello"}',
        b'{"type":"ping"}',
        b'{"type":"ping","ping":-1}',
        b'{"type":"play","range":1,"episodes":[[0,0,1,2]]}',
        b'{"type":"play","range":1,"episodes":[]}',
        b'{"type":"play","range":1,"episodes":[[0,0,1]]}',
        b'{"type":"play","range":1,"episodes":[[0,0,4294967296,1]]}',
        b'{"type":"load","load":1}',
        b"x" * (1024 * 1024 + 1),
    ],
    ids=lambda line: line[:50].decode(),
)
def test_an_invalid_frame_ends_the_runner(runner: RunnerProcess, line: bytes) -> None:
    runner.send_bytes(line + b"\n")
    assert runner.exit_code() == 70
    assert runner.stderr.startswith("protocol error: ")
    assert runner.stderr.count("\n") == 1


def test_an_episode_of_a_task_that_was_not_loaded_ends_the_runner(runner: RunnerProcess, any_policy: Policy) -> None:
    runner.load(*any_policy, environment("toys:Toy"))
    runner.send_play([(0, 1, 0, 0)])
    assert runner.exit_code() == 70


def test_a_module_that_cannot_be_imported_ends_the_runner_before_ready() -> None:
    with RunnerProcess("--import", "no_such_module") as runner:
        assert runner.exit_code() == 69
        assert runner.rest() == []
        assert "no_such_module" in runner.stderr


def test_a_wrong_option_ends_the_runner_with_its_usage() -> None:
    with RunnerProcess("--wrong") as runner:
        assert runner.exit_code() == 64
        assert "usage" in runner.stderr


def test_a_runner_ends_when_its_output_is_closed(any_policy: Policy) -> None:
    with RunnerProcess() as runner:
        runner.ready()
        runner.load(*any_policy, environment("toys:Toy"))
        runner.close_output()
        runner.send({"type": "ping", "ping": 1})
        assert runner.exit_code() == 74


def test_outcomes_are_the_same_for_any_division_into_ranges(any_policy: Policy) -> None:
    """Also in another process, after other episodes, and with generators and hash seeds that are the process's own."""
    tasks = (environment("toys:Careless", steps=3), environment("toys:DrawnOnce"))
    work = [(i, i % 2, 100 + i, i) for i in range(24)]
    with RunnerProcess() as whole:
        whole.ready().load(*any_policy, *tasks)
        expected = without_time(whole.play(work))
    with RunnerProcess(environment={"PYTHONHASHSEED": "5"}) as cut:
        cut.ready().load(*any_policy, *tasks)
        pieces = [cut.play(work[i : i + 5]) for i in (15, 0, 20, 5, 10)]
    found = sorted((outcome for piece in pieces for outcome in piece), key=lambda outcome: int(outcome["index"]))
    assert without_time(found) == expected
    assert len({json.loads(line)["return"] for line in expected}) > 10

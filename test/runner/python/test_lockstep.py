"""Blocks that are played in lockstep: rows with an environment each, and one forward pass for all of them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints import (
    constant_layer,
    file_digest,
    random_layers,
    write_carried,
    write_mlp,
)
from runner_process import REPOSITORY, Frame, RunnerProcess, environment, without_time

Policy = tuple[Path, str]

CHECKPOINTS = REPOSITORY / "examples" / "game" / "checkpoints"

# Seconds that an episode may take where one takes for ever: longer than a process stands still that does nothing else, on a busy machine.
LIMIT = 2
ONE_IS_EVEN = [(0, 0, 1, 0), (1, 0, 2, 0), (2, 0, 3, 0), (3, 0, 5, 0)]


def lockstep(width: int, episodes: int | None = None, seconds: float = 60) -> Frame:
    return {"form": "lockstep", "width": width, "episodes": episodes or width, "episodeSeconds": seconds}


def work(count: int, tasks: int = 1) -> list[tuple[int, int, int, int]]:
    return [(i, i % tasks, 1 + i, 500 + i) for i in range(count)]


@pytest.fixture(scope="module")
def runner() -> Iterator[RunnerProcess]:
    """One for all tests here: each loads its own checkpoint in place of the former."""
    with RunnerProcess() as process:
        yield process.ready()


def results(outcomes: list[Frame]) -> list[Any]:
    return [outcome.get("cause", outcome.get("return")) for outcome in outcomes]


@pytest.mark.parametrize("actions", ["deterministic", "stochastic"])
@pytest.mark.parametrize("name", ["early", "middle"])
def test_on_cartpole_returns_equal_those_of_single_play_to_the_last_bit(runner: RunnerProcess, name: str, actions: str) -> None:
    path = CHECKPOINTS / f"{name}.safetensors"
    policy, task, episodes = (path, file_digest(path)), environment("gymnasium:CartPole-v1"), work(96)
    runner.load(*policy, task, actions=actions)
    expected = [(outcome["return"], outcome["length"]) for outcome in runner.play(episodes)]
    assert len(set(expected)) > 10
    for width, block in ((1, 1), (8, 32), (32, 96)):
        assert runner.load(*policy, task, actions=actions, batching=lockstep(width, block))["type"] == "loaded"
        assert [(outcome["return"], outcome["length"]) for outcome in runner.play(episodes)] == expected


@pytest.mark.parametrize("squash", ["tanh", "clip", "none"])
@pytest.mark.parametrize("actions", ["deterministic", "stochastic"])
def test_continuous_actions_equal_those_of_single_play(runner: RunnerProcess, tmp_path: Path, squash: str, actions: str) -> None:
    """A linear layer of one number is not rounded otherwise in a batch, so that the draws can be compared to the last bit."""
    tensors = random_layers(1, 2) | {"action.log_std": np.array([-1.0, 0.5], np.float32)}
    policy = write_mlp(tmp_path / "p.safetensors", tensors, {"kind": "continuous", "squash": squash})
    task = environment("toys:Moved", low=[-2.0, 0.0], high=[4.0, 1.0], observation=[0.3], steps=3)
    options: Frame = {"actions": actions, "metrics": ["a0", "a1"]}
    runner.load(*policy, task, **options)
    expected = without_time(runner.play(work(24)))
    runner.load(*policy, task, **options, batching=lockstep(4, 12))
    assert without_time(runner.play(work(24))) == expected


def test_a_block_is_the_same_whatever_was_played_before_it(any_policy: Policy) -> None:
    """Also with environments that draw from generators which all rows share, and that have to be made anew on the way."""
    tasks = [environment("toys:VariedCareless"), environment("toys:DrawnOnce"), environment("toys:Broken", how="step")]
    batching = lockstep(3, 8)
    episodes = [(i, (i * 7) % 3, 100 + i, i) for i in range(40)]
    with RunnerProcess() as whole:
        whole.ready().load(*any_policy, *tasks, batching=batching)
        expected = without_time(whole.play(episodes))
    with RunnerProcess(environment={"PYTHONHASHSEED": "5"}) as cut:
        cut.ready().load(*any_policy, *tasks, batching=batching)
        pieces = [cut.play(episodes[begin : begin + count]) for begin, count in ((24, 16), (24, 16), (8, 8), (0, 8), (16, 8))]
    found = [*pieces[3], *pieces[2], *pieces[4], *pieces[1]]
    assert without_time(found) == expected
    assert without_time(pieces[0]) == without_time(pieces[1])
    assert len({result for result in results(found) if isinstance(result, float)}) > 10


def test_the_order_of_the_episodes_in_a_block_is_kept(runner: RunnerProcess, any_policy: Policy) -> None:
    runner.load(*any_policy, environment("toys:Varied"))
    expected = results(runner.play(work(30)))
    runner.load(*any_policy, environment("toys:Varied"), batching=lockstep(4, 15))
    assert results(runner.play(work(30))) == expected
    assert len(set(expected)) > 4


TWO_VALUES = """ValueError: not enough values to unpack (expected 5, got 2)
in the runner, which takes what the environment gives: row.observation, reward, terminated, truncated, row.info = row.step(action)"""


@pytest.mark.parametrize(
    ("how", "cause", "detail"),
    [
        ("step", "environment-crash", "RuntimeError: a wheel came off"),
        ("reset", "environment-crash", "RuntimeError: no start"),
        ("old reset", "environment-crash", "TypeError: reset() gave float as its second part; expected (observation, info)"),
        ("shape", "environment-crash", TWO_VALUES),
        ("sys.exit", "environment-crash", "SystemExit: 3"),
        ("memory", "out-of-memory", "MemoryError"),
        ("nan", "invalid-return", "the return is NaN, not a number, after 1 step, expected a finite number"),
    ],
)
@pytest.mark.parametrize("width", [2, 5])
def test_a_failing_environment_fails_only_its_own_episode(
    runner: RunnerProcess, any_policy: Policy, width: int, how: str, cause: str, detail: str
) -> None:
    runner.load(*any_policy, environment("toys:Broken", how=how), batching=lockstep(width, 10))
    outcomes = runner.play(work(20))
    assert results(outcomes) == [1.0, cause] * 10
    assert outcomes[1]["detail"].startswith(detail)


def test_an_environment_that_cannot_be_created_again_fails_the_episodes_that_need_it(runner: RunnerProcess, any_policy: Policy) -> None:
    runner.load(*any_policy, environment("toys:CaughtTwice"), batching=lockstep(2))
    details = [outcome["detail"] for outcome in runner.play(work(2))]
    assert [detail.partition("\n")[0] for detail in details] == ["RuntimeError: once", "RuntimeError: there can be only one"]


def test_an_environment_that_ends_the_process_ends_the_block(any_policy: Policy) -> None:
    with RunnerProcess() as runner:
        runner.ready().load(*any_policy, environment("toys:Broken", how="_exit"), batching=lockstep(2))
        runner.send_play([(0, 0, 1, 0), (1, 0, 3, 0), (2, 0, 5, 0), (3, 0, 6, 0)])
        assert runner.exit_code() == 9
        assert [(frame["type"], frame.get("index")) for frame in runner.rest()] == [("begin", None), ("completed", 0), ("completed", 1)]


def test_an_episode_that_exceeds_the_time_of_its_row_is_a_timeout(runner: RunnerProcess, any_policy: Policy) -> None:
    """The others go on, and so does the row."""
    runner.load(*any_policy, environment("toys:Endless"), batching=lockstep(2, 4, seconds=LIMIT))
    outcomes = runner.play(ONE_IS_EVEN)
    assert results(outcomes) == [1.0, "timeout", 1.0, 1.0]
    assert f"the limit is {LIMIT} s" in outcomes[1]["detail"]


@pytest.mark.parametrize("where", ["step", "reset"])
def test_an_environment_that_does_not_return_is_a_timeout_of_its_episode(runner: RunnerProcess, any_policy: Policy, where: str) -> None:
    runner.load(*any_policy, environment("toys:Hanging", where=where), batching=lockstep(2, 4, seconds=LIMIT))
    outcomes = runner.play(ONE_IS_EVEN)
    assert results(outcomes) == [1.0, "timeout", 1.0, 1.0]
    assert f"did not come back within {LIMIT} s" in outcomes[1]["detail"]


def test_an_environment_that_sets_an_alarm_keeps_it(any_policy: Policy) -> None:
    with RunnerProcess() as runner:
        runner.ready().load(*any_policy, environment("toys:Alarmed"), batching=lockstep(3, 6))
        assert results(runner.play(work(6))) == [1.0] * 6


def test_rows_of_one_block_can_have_tasks_with_different_spaces(runner: RunnerProcess, tmp_path: Path) -> None:
    """A network fits observations of one size only; which number it sees is another one in each task."""
    code = (
        "class P:\n"
        "    def __init__(self, size): self.size = size\n"
        "    def act_rows(self, rows, observations):\n"
        "        assert observations.shape == (len(rows), self.size)\n"
        "        return observations[:, -1].astype(int)\n"
        "def make(*, observation_space, **_): return P(observation_space.shape[0])\n"
    )
    observations = [[5.0], [0.0, 3.0]]
    tasks = [environment("toys:Chosen", observation=seen, actions=9, steps=2 // len(seen)) for seen in observations]
    policy = write_carried(tmp_path / "checkpoint", code)
    assert runner.load(*policy, *tasks, batching=lockstep(4, 8)) == {"type": "loaded", "load": runner.loads, "digest": policy[1]}
    assert results(runner.play(work(16, tasks=2))) == [10.0, 3.0] * 8


def test_prints_are_kept_with_the_row_that_printed(runner: RunnerProcess, any_policy: Policy) -> None:
    tasks = [environment("toys:Loud", how="print", text=f"task {i}", steps=i + 1) for i in range(3)]
    runner.load(*any_policy, *tasks, batching=lockstep(2, 6))
    outcomes = runner.play(work(6, tasks=3))
    assert [outcome["log"] for outcome in outcomes] == ["task 0\n", "task 1\n" * 2, "task 2\n" * 3] * 2


def test_a_block_shares_its_time_among_its_episodes(runner: RunnerProcess, any_policy: Policy) -> None:
    runner.load(*any_policy, environment("toys:Varied"), batching=lockstep(4, 8))
    outcomes = runner.play(work(8))
    assert len({outcome["seconds"] for outcome in outcomes}) == 1
    assert all(0 < outcome["forward"] <= outcome["seconds"] for outcome in outcomes)


def test_an_observation_that_does_not_fit_fails_only_the_episode_of_its_row(runner: RunnerProcess, tmp_path: Path) -> None:
    """A network's forward pass is asked row by row then."""
    policy = write_mlp(tmp_path / "p.safetensors", constant_layer(1, [0.0, 1.0]))
    runner.load(*policy, environment("toys:Misshapen"), batching=lockstep(4, 8))
    outcomes = runner.play(work(8))
    assert results(outcomes) == [1.0, "environment-crash"] * 4


def test_a_policy_that_fails_for_all_rows_at_once_fails_the_episodes_that_are_being_played(runner: RunnerProcess, tmp_path: Path) -> None:
    """It is unknown whose fault it was; the rows go on with the next episodes."""
    code = (
        "class P:\n"
        "    def reset_row(self, row, seed): self.due = seed == 502\n"
        "    def act_rows(self, rows, observations):\n"
        "        if self.due: raise KeyError('lost')\n"
        "        return rows * 0\n"
        "def make(**_): return P()\n"
    )
    runner.load(*write_carried(tmp_path / "checkpoint", code), environment("toys:Toy"), batching=lockstep(3, 9))
    outcomes = runner.play(work(9))
    assert results(outcomes) == ["policy-crash"] * 3 + [1.0] * 6
    assert outcomes[0]["detail"].startswith("KeyError: 'lost'")


@pytest.mark.parametrize(
    "batching",
    [
        lockstep(0),
        lockstep(4097),
        lockstep(4, 3),
        {**lockstep(4), "form": "sideways"},
        {**lockstep(4, 8), "form": "vector"},
        lockstep(4, seconds=0),
        {"form": "lockstep"},
        [],
    ],
)
def test_an_invalid_batching_frame_ends_the_runner(any_policy: Policy, batching: Any) -> None:
    with RunnerProcess() as runner:
        runner.ready().send_load(*any_policy, environment("toys:Toy"), batching=batching)
        assert runner.exit_code() == 70
        assert "batching" in runner.stderr


def test_a_range_that_does_not_consist_of_whole_blocks_ends_the_runner(any_policy: Policy) -> None:
    with RunnerProcess() as runner:
        runner.ready().load(*any_policy, environment("toys:Toy"), batching=lockstep(2, 4))
        runner.send_play(work(6))
        assert runner.exit_code() == 70
        assert "a range has 6 episodes, expected whole blocks of 4" in runner.stderr

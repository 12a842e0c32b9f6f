"""Blocks that are played in an environment's own vector form: the first episode of each row, and all rows are waited for."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from checkpoints import file_digest, write_carried
from runner_process import REPOSITORY, Frame, RunnerProcess, environment, without_time

Policy = tuple[Path, str]

MIDDLE = REPOSITORY / "examples" / "game" / "checkpoints" / "middle.safetensors"
MODES = ["NextStep", "SameStep", "Disabled"]


def vector(width: int, seconds: float = 60) -> Frame:
    return {"form": "vector", "width": width, "episodes": width, "episodeSeconds": seconds}


def work(count: int, tasks: int = 1) -> list[tuple[int, int, int, int]]:
    return [(i, i % tasks, 1 + i, 500 + i) for i in range(count)]


@pytest.fixture(scope="module")
def runner() -> Iterator[RunnerProcess]:
    """One for all tests here: each loads its own checkpoint in place of the former."""
    with RunnerProcess() as process:
        yield process.ready()


def results(outcomes: list[Frame]) -> list[Any]:
    return [outcome.get("cause", outcome.get("return")) for outcome in outcomes]


@pytest.mark.parametrize("mode", MODES)
def test_the_first_episode_of_each_row_counts_in_every_autoreset_mode(runner: RunnerProcess, any_policy: Policy, mode: str) -> None:
    """Steps between two episodes are worth 1,000: none of them is in a return, and the metrics are those of the last step."""
    runner.load(*any_policy, environment("vector_toys:Rows", mode=mode), batching=vector(6), metrics=["played", "absent"])
    for _ in range(2):
        outcomes = runner.play(work(6))
        assert results(outcomes) == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
        assert [outcome["length"] for outcome in outcomes] == [1, 2, 3, 4, 5, 6]
        assert [outcome["metrics"] for outcome in outcomes] == [{"played": float(i)} for i in range(1, 7)]


def test_observations_with_nan_cause_a_warning(runner: RunnerProcess, any_policy: Policy) -> None:
    runner.load(*any_policy, environment("vector_toys:Rows", blind=True), batching=vector(3))
    assert ["hold NaN" in outcome["warnings"][0] for outcome in runner.play(work(3))] == [True] * 3


def test_the_vector_form_of_gymnasium_plays_whole_episodes(runner: RunnerProcess) -> None:
    policy = (MIDDLE, file_digest(MIDDLE))
    runner.load(*policy, environment("gymnasium:CartPole-v1"), batching=vector(64))
    outcomes = runner.play(work(128))
    assert all(outcome["return"] == outcome["length"] for outcome in outcomes)
    assert len({outcome["return"] for outcome in outcomes}) > 20


@pytest.mark.parametrize("actions", ["deterministic", "stochastic"])
def test_a_block_is_the_same_whatever_was_played_before_it(actions: str) -> None:
    policy = (MIDDLE, file_digest(MIDDLE))
    tasks = [environment("gymnasium:CartPole-v1"), environment("gymnasium:CartPole-v1", max_episode_steps=50)]
    episodes = [(i, int(i % 5 > 2), 100 + i, i) for i in range(64)]
    with RunnerProcess() as whole:
        whole.ready().load(*policy, *tasks, actions=actions, batching=vector(16))
        expected = without_time(whole.play(episodes))
    with RunnerProcess() as cut:
        cut.ready().load(*policy, *tasks, actions=actions, batching=vector(16))
        pieces = [cut.play(episodes[begin : begin + 16]) for begin in (48, 16, 48, 32, 0)]
    assert without_time([*pieces[4], *pieces[1], *pieces[3], *pieces[2]]) == expected
    assert without_time(pieces[0]) == without_time(pieces[2])


def test_the_seed_of_a_vector_is_that_of_its_first_episode(runner: RunnerProcess) -> None:
    runner.load(MIDDLE, file_digest(MIDDLE), environment("gymnasium:CartPole-v1"), batching=vector(4))
    one, same, other = (results(runner.play([(i, 0, seed + i * i, i) for i in range(4)])) for seed in (7, 7, 8))
    assert one == same != other
    assert results(runner.play([(0, 0, 7, 0), (1, 0, 99, 1), (2, 0, 98, 2), (3, 0, 97, 3)])) == one


def test_a_wrapper_is_called_with_the_vector_environment(runner: RunnerProcess, any_policy: Policy) -> None:
    worth = {"entry": "vector_toys:Worth", "kwargs": {"factor": 0.5}}
    runner.load(*any_policy, environment("vector_toys:Rows", worth), batching=vector(3))
    assert results(runner.play(work(3))) == [0.5, 1.0, 1.5]


def test_dictionaries_and_several_choices_reach_a_policy_with_code(runner: RunnerProcess, tmp_path: Path) -> None:
    code = (
        "import numpy as np\n"
        "class P:\n"
        "    def act_rows(self, rows, observations):\n"
        "        assert (observations['a'][:, 0] == rows).all()\n"
        "        return np.stack([observations['b'], rows % 2], axis=1)\n"
        "def make(**_): return P()\n"
    )
    assert "warnings" not in runner.load(*write_carried(tmp_path / "p", code), environment("vector_toys:Composite"), batching=vector(4))
    assert results(runner.play(work(4))) == [0.0, 4.0, 6.0, 4.0]


def test_a_policy_of_one_observation_plays_row_by_row_and_says_so(runner: RunnerProcess, tmp_path: Path) -> None:
    code = "class P:\n    def act(self, observation): return [observation['b'], 1]\ndef make(**_): return P()\n"
    answer = runner.load(*write_carried(tmp_path / "p", code), environment("vector_toys:Composite"), batching=vector(4))
    assert answer["warnings"][0].startswith("the policy takes one observation at a time: rows are played one by one")
    assert results(runner.play(work(4))) == [1.0, 4.0, 9.0, 4.0]


@pytest.mark.parametrize(
    ("kwargs", "detail"),
    [
        ({"fails_at": 3}, "RuntimeError: all wheels came off"),
        ({"shows_more": 1}, "ValueError: the observations have the shape (5, 1), expected (4, 1)"),
        ({"shape": "one"}, "ValueError: reward has the shape (1,), expected (4,)"),
    ],
)
def test_what_an_environment_raises_is_the_outcome_of_the_whole_vector(
    runner: RunnerProcess, any_policy: Policy, kwargs: Frame, detail: str
) -> None:
    """The other task's vector in the same block goes on."""
    runner.load(*any_policy, environment("vector_toys:Rows", **kwargs), environment("vector_toys:Rows"), batching=vector(8))
    outcomes = runner.play(work(8, tasks=2))
    assert results(outcomes) == ["environment-crash", 1.0, "environment-crash", 2.0, "environment-crash", 3.0, "environment-crash", 4.0]
    assert outcomes[0]["detail"].startswith(detail)


def test_what_a_policy_raises_is_the_outcome_of_the_whole_vector(runner: RunnerProcess, tmp_path: Path) -> None:
    code = "class P:\n    def act_rows(self, rows, observations): return rows + 1\ndef make(**_): return P()\n"
    runner.load(*write_carried(tmp_path / "p", code), environment("vector_toys:Rows"), batching=vector(4))
    outcomes = runner.play(work(4))
    assert results(outcomes) == ["policy-crash"] * 4
    assert "the action 2 does not fit Discrete(2)" in outcomes[0]["detail"]


@pytest.mark.parametrize("mode", MODES)
def test_rows_after_their_first_episode_are_not_played_for_long(runner: RunnerProcess, tmp_path: Path, mode: str) -> None:
    """Row r ends after r + 1 steps; its reward tells of how many rows the policy was asked, and that each kept what is its own."""
    code = (
        "import numpy as np\n"
        "class P:\n"
        "    def __init__(self): self.steps = np.zeros(8, int)\n"
        "    def reset_row(self, row, seed): self.steps[row] = 0\n"
        "    def act_rows(self, rows, observations):\n"
        "        assert len(observations) == len(rows)\n"
        "        self.steps[rows] += 1\n"
        "        print(len(rows), (self.steps[rows] == self.steps.max()).all())\n"
        "        return rows % 2\n"
        "def make(**_): return P()\n"
    )
    runner.load(*write_carried(tmp_path / "p", code), environment("vector_toys:Chosen", mode=mode), batching=vector(8))
    outcomes = runner.play(work(8))
    assert results(outcomes) == [0.0, 2.0, 0.0, 4.0, 0.0, 6.0, 0.0, 8.0]
    assert outcomes[0]["log"].split("\n")[:-1] == ["8 True"] * 4 + ["4 True"] * 2 + ["2 True"] + ["1 True"]


def test_a_row_that_does_not_end_is_a_timeout_and_the_others_keep_their_outcomes(runner: RunnerProcess, any_policy: Policy) -> None:
    runner.load(*any_policy, environment("vector_toys:Rows", endless=1), batching=vector(4, seconds=2))
    assert results(runner.play(work(4))) == [1.0, "timeout", 3.0, 4.0]


@pytest.mark.parametrize(
    ("entry", "kwargs", "message"),
    [
        ("gymnasium:MountainCar-v0", {}, "MountainCar-v0 has no vector form of its own (vector_entry_point). Play it with"),
        ("vector_toys:single_only", {"steps": 1}, "so it makes no vector environment. Play it with mode: lockstep"),
        ("vector_toys:no_vector", {}, "it makes a range without reset, expected a gymnasium.vector.VectorEnv"),
        ("vector_toys:Wider", {}, "it makes a vector environment of 5 rows, expected num_envs=4"),
        ("vector_toys:Rows", {"mode": None}, 'metadata["autoreset_mode"] is None, expected a member of'),
        ("vector_toys:Absent", {}, 'module "vector_toys" has no "Absent"'),
    ],
)
def test_an_object_that_is_no_vector_environment_is_refused(
    runner: RunnerProcess, any_policy: Policy, entry: str, kwargs: Frame, message: str
) -> None:
    answer = runner.load(*any_policy, environment(entry, **kwargs), batching=vector(4))
    assert (answer["type"], answer["part"]) == ("refused", "environment")
    assert message in answer["message"]


def test_a_wrapper_for_single_environments_is_refused(runner: RunnerProcess) -> None:
    limit = {"entry": "gymnasium.wrappers:TimeLimit", "kwargs": {"max_episode_steps": 9}}
    answer = runner.load(MIDDLE, file_digest(MIDDLE), environment("gymnasium:CartPole-v1", limit), batching=vector(4))
    assert "wrappers are called with the vector environment (gymnasium.wrappers.vector:…)" in answer["message"]


def test_a_policy_for_other_observations_is_refused(runner: RunnerProcess) -> None:
    answer = runner.load(MIDDLE, file_digest(MIDDLE), environment("vector_toys:Rows"), batching=vector(4))
    assert (answer["part"], answer["message"]) == ("policy", 'the policy takes 4 numbers, the environment gives 1 (task "task-0")')

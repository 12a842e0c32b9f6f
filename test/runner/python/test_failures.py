"""Episodes that go wrong: an outcome each, and the next episode does not feel it."""

from pathlib import Path

import pytest
from runner_process import RunnerProcess, environment

Policy = tuple[Path, str]

# A step that gives two values: the runner's line says which five it takes.
TWO_VALUES = """ValueError: not enough values to unpack (expected 5, got 2)
in the runner, which takes what the environment gives: observation, reward, terminated, truncated, info = step(action)"""

MISSING_FILE = """FileNotFoundError: [Errno 2] No such file or directory: '/nonexistent/levels.json'
a sandbox has the files of suite and checkpoint, and nothing else of the machine's"""

# The environment breaks on even seeds.
WORK = [(0, 0, 1, 0), (1, 0, 2, 0), (2, 0, 3, 0), (3, 0, 4, 0), (4, 0, 5, 0)]


@pytest.mark.parametrize(
    ("how", "cause", "detail"),
    [
        ("step", "environment-crash", "RuntimeError: a wheel came off"),
        ("reset", "environment-crash", "RuntimeError: no start"),
        ("old reset", "environment-crash", "TypeError: reset() gave float as its second part; expected (observation, info)"),
        ("shape", "environment-crash", TWO_VALUES),
        ("sys.exit", "environment-crash", "SystemExit: 3"),
        ("no number", "environment-crash", "step() gave a reward that is NoneType: None; expected a number"),
        ("text", "environment-crash", "step() gave a reward that is str: '1'; expected a number"),
        ("file", "environment-crash", MISSING_FILE),
        ("network", "environment-crash", "OSError: the address of example.invalid\na sandbox has no network"),
        ("memory", "out-of-memory", "MemoryError"),
        ("nan", "invalid-return", "the return is NaN, not a number, after 1 step, expected a finite number"),
    ],
)
def test_an_environment_that_fails_is_created_again(runner: RunnerProcess, any_policy: Policy, how: str, cause: str, detail: str) -> None:
    runner.load(*any_policy, environment("toys:Broken", how=how))
    outcomes = runner.play(WORK)
    assert [outcome.get("cause", outcome.get("return")) for outcome in outcomes] == [1.0, cause, 1.0, cause, 1.0]
    assert outcomes[1]["detail"].startswith(detail)


@pytest.mark.parametrize(("how", "code"), [("_exit", 9), ("fork", 7)])
def test_an_environment_that_ends_the_process_leaves_the_outcomes_before_it(any_policy: Policy, how: str, code: int) -> None:
    """A forked child goes on in the environment's code, but it has no channel: the output ends with the process."""
    with RunnerProcess() as runner:
        runner.ready().load(*any_policy, environment("toys:Broken", how=how))
        runner.send_play(WORK)
        assert runner.exit_code() == code
        assert [(frame["type"], frame.get("index")) for frame in runner.rest()] == [("begin", None), ("completed", 0)]


def test_an_environment_that_cannot_be_created_again_fails_each_episode(runner: RunnerProcess, any_policy: Policy) -> None:
    runner.load(*any_policy, environment("toys:CaughtTwice"))
    details = [outcome["detail"] for outcome in runner.play(WORK[:2])]
    assert details[0].startswith("RuntimeError: once")
    assert details[1].startswith("RuntimeError: there can be only one")

"""Nothing that an environment or a policy prints reaches the channel."""

from pathlib import Path

import numpy as np
import pytest
from runner_process import RunnerProcess, environment, episodes

from muster_runner.prints import EpisodePrints

Policy = tuple[Path, str]


@pytest.mark.parametrize("how", ["print", "no newline", "stderr", "dunder", "bytes"])
def test_python_prints_go_to_the_error_output_and_with_the_episode(runner: RunnerProcess, any_policy: Policy, how: str) -> None:
    runner.load(*any_policy, environment("toys:Loud", how=how, text="loud \u00fc"))
    for _ in range(2):
        assert runner.play(episodes(1))[0]["log"].rstrip("\n") == "loud \u00fc"
    assert runner.stderr.count("loud \u00fc") == 2


@pytest.mark.parametrize("how", ["fd", "subprocess", "c"])
def test_prints_past_python_go_to_the_error_output(runner: RunnerProcess, any_policy: Policy, how: str) -> None:
    forged = '{"type":"pong","ping":1}'
    runner.load(*any_policy, environment("toys:Loud", how=how, text=forged))
    assert "log" not in runner.play(episodes(1))[0]
    assert forged in runner.stderr


def test_the_input_of_the_environment_is_empty(runner: RunnerProcess, any_policy: Policy) -> None:
    runner.load(*any_policy, environment("toys:Loud", how="input"))
    runner.send_play(episodes(2))
    runner.receive()
    assert [runner.receive()["log"] for _ in range(2)] == ["read '' and b''\n"] * 2


def test_a_long_print_keeps_its_beginning_and_its_end(runner: RunnerProcess, any_policy: Policy) -> None:
    text = "".join(f"{i:09}\n" for i in range(100_000))
    runner.load(*any_policy, environment("toys:Loud", how="no newline", text=text[:100_000]), environment("toys:Toy"))
    loud, quiet = runner.play([(0, 0, 0, 0), (1, 1, 0, 0)])
    assert loud["log"] == text[:4096] + "\n[91808 bytes left out]\n" + text[100_000 - 4096 : 100_000]
    assert "log" not in quiet


@pytest.mark.parametrize("character", ["\0", "\udcff", "\U0001f600", '"'])
def test_a_frame_stays_within_64_kib_whatever_is_printed(runner: RunnerProcess, any_policy: Policy, character: str) -> None:
    runner.load(*any_policy, environment("toys:Loud", how="print", text=character * 20_000))
    runner.send_play(episodes(1))
    assert runner.receive()["type"] == "begin"
    assert len(runner.line()) <= 64 * 1024


def test_prints_while_loading_belong_to_no_episode(runner: RunnerProcess, any_policy: Policy, tmp_path: Path) -> None:
    (tmp_path / "noisy.py").write_text("from gymnasium.envs.classic_control import CartPoleEnv\nprint('loading')\nclass Noisy: pass\n")
    answer = runner.load(*any_policy, environment("noisy:Noisy"), code=str(tmp_path))
    assert answer["type"] == "refused"
    runner.load(*any_policy, environment("toys:Toy"))
    assert "log" not in runner.play(episodes(1))[0]
    assert "loading" in runner.stderr


def test_prints_of_several_sources_read_as_one_output() -> None:
    """However much each row prints between two steps, also more than is kept."""
    random = np.random.default_rng(2)
    for _ in range(50):
        pieces = [bytes(random.integers(97, 123, int(size), np.uint8)) for size in random.integers(0, 3, 6) * random.integers(0, 9000, 6)]
        shared, row, plain = EpisodePrints(), EpisodePrints(), EpisodePrints()
        for piece in pieces:
            shared.append(piece[: len(piece) // 3])
            shared.append(piece[len(piece) // 3 :])
            plain.append(piece)
            shared.pour_into(row)
            assert shared.total == 0
        assert row.take() == plain.take()
        assert row.take() == shared.take() == ""

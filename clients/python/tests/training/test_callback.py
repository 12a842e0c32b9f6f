"""The callback in real trainings with the real Stable-Baselines3, against a real server."""

import copy
import logging
import os
import pickle
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import pytest
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback, CallbackList
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from muster.sb3 import MusterCallback
from muster.training.record import Record
from muster_client import Client, Completed, InvalidArgument
from tests.real_server import GAME, RealServer

torch.set_num_threads(1)
SUITE = str(GAME / "cartpole.yaml")
FEW = {"rule": "fixed", "episodes": 24}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    with RealServer(tmp_path_factory.mktemp("muster")) as server:
        yield server


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    before = set(threading.enumerate())
    # A shell that starts the tests in the background has Ctrl-C ignored.
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert set(threading.enumerate()) == before
    assert signal.signal(signal.SIGINT, former) is signal.default_int_handler


def model(environment: Any = "CartPole-v1", **options: Any) -> PPO:
    return PPO("MlpPolicy", environment, n_steps=128, batch_size=64, device="cpu", seed=1, **options)


def scalars(directory: Path) -> dict[str, list[tuple[int, float]]]:
    found = EventAccumulator(str(directory))
    found.Reload()
    return {tag: [(event.step, event.value) for event in found.Scalars(tag)] for tag in found.Tags()["scalars"]}


class Returns:
    """What the server played of an evaluation, by the seeds of its episodes."""

    def __init__(self, server: RealServer, evaluation: str) -> None:
        with Client(server.url) as client:
            episodes = list(client.episodes(evaluation))
        self.seeds = [episode.environment_seed for episode in episodes]
        self.returns = [episode.outcome.reward for episode in episodes if isinstance(episode.outcome, Completed)]


def played_by_library(trained: PPO, seeds: list[int], normaliser: VecNormalize | None = None) -> list[float]:
    """Each episode by `evaluate_policy`, from a reset with its seed."""
    vectors: Any = DummyVecEnv([lambda: Monitor(gymnasium.make("CartPole-v1"))])
    if normaliser is not None:
        statistics, vectors = normaliser.obs_rms, VecNormalize(vectors, training=False, norm_reward=False)
        vectors.obs_rms = statistics
    played = []
    for seed in seeds:
        vectors.seed(seed)
        returns, _ = evaluate_policy(trained, vectors, n_eval_episodes=1, return_episode_rewards=True)
        played.append(float(returns[0]))
    return played


@pytest.mark.parametrize("is_normalised", [False, True])
def test_checkpoints_are_logged_at_their_steps_and_the_last_one_returns_what_the_library_has(
    is_normalised: bool, server: RealServer, tmp_path: Path
) -> None:
    environment: Any = make_vec_env("CartPole-v1", 2, seed=1)
    environment = VecNormalize(environment, clip_obs=5) if is_normalised else environment
    callback = MusterCallback(
        SUITE, every=512, log=["tensorboard", "csv"], directory=tmp_path / "run", server=server.url, busy="wait", stop=FEW
    )
    trained = model(environment, tensorboard_log=str(tmp_path / "board")).learn(1200, callback=callback)

    trained.logger.close()
    steps = [512, 1024, trained.num_timesteps]
    logged = scalars(tmp_path / "board" / "PPO_1")
    for figure in ("estimate", "mean", "low", "high", "episodes"):
        assert [step for step, _ in logged[f"muster/{figure}"]] == steps
    assert "time/fps" in logged or "rollout/ep_rew_mean" in logged

    scores = Record(tmp_path / "run").scores()
    last = Returns(server, scores[-1].evaluation)
    assert len(last.returns) == FEW["episodes"]
    assert last.returns == played_by_library(trained, last.seeds, environment if is_normalised else None)
    assert logged["muster/mean"][-1][1] == pytest.approx(sum(last.returns) / len(last.returns))
    assert callback.best is not None
    assert (tmp_path / "run" / "best.json").exists()
    for score in scores:
        assert f"{score.mean:.0f}" in (tmp_path / "run" / "reports" / f"step-{score.step}.html").read_text()
        assert f",{server.url}/evaluations/{score.evaluation}\n" in (tmp_path / "board" / "PPO_1" / "muster.csv").read_text()
    assert (tmp_path / "board" / "PPO_1" / "muster.csv").read_text().count("\n") == 1 + 3 * len(steps)


class Interrupt(BaseCallback):
    """As Ctrl-C at a step."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self._at = at

    def _on_step(self) -> bool:
        if self.num_timesteps == self._at:
            os.kill(os.getpid(), signal.SIGINT)
        return True


def test_an_interrupted_training_has_its_last_policy_evaluated(server: RealServer, tmp_path: Path) -> None:
    callback = MusterCallback(SUITE, every=100_000, directory=tmp_path, server=server.url, stop=FEW)
    with pytest.raises(KeyboardInterrupt):
        model().learn(5000, callback=CallbackList([Interrupt(200), callback]))
    assert [score.step for score in Record(tmp_path).scores()] == [200]


def test_a_misspelt_option_or_one_that_cannot_be_called_is_refused_before_the_training() -> None:
    with pytest.raises(TypeError, match="'evry'; did you mean 'every'"):
        MusterCallback(SUITE, evry=10)  # type: ignore[call-arg]
    with pytest.raises(InvalidArgument, match="on_regress: expected a function of two scores, got 'x'"):
        MusterCallback(SUITE, every=10, on_regress="x")  # type: ignore[arg-type]


def test_a_certified_target_ends_the_training(server: RealServer, tmp_path: Path) -> None:
    callback = MusterCallback(SUITE, every=128, directory=tmp_path, server=server.url, busy="wait", until=1, stop=FEW)
    trained = model().learn(5000, callback=callback)
    assert trained.num_timesteps < 1000
    assert callback.evaluator.reached


def test_an_error_becomes_a_warning_with_a_remedy_and_the_training_continues(
    server: RealServer, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    pendulum = tmp_path / "pendulum.yaml"
    pendulum.write_text(
        "{name: pendulum, environment: 'gymnasium:Pendulum-v1', seed: 1, reward: {bounds: [-2000, 0]}, stop: {rule: fixed, episodes: 4}}"
    )
    callback = MusterCallback(str(pendulum), every=128, directory=tmp_path / "misfit", server=server.url, busy="wait")
    with caplog.at_level(logging.WARNING, "muster"):
        assert model().learn(256, callback=callback).num_timesteps == 256
    assert "the policy's actions are discrete, the environment takes Box" in caplog.text

    caplog.clear()
    activated = model(policy_kwargs={"activation_fn": Doubled})
    with caplog.at_level(logging.WARNING, "muster"):
        activated.learn(256, callback=MusterCallback(SUITE, every=128, directory=tmp_path / "custom", server=server.url))
    assert "test_callback.Doubled, which is not known. Export it yourself, as ONNX or TorchScript: a module" in caplog.text
    assert caplog.messages[0].startswith("the policy of this training cannot be exported")

    caplog.clear()
    monkeypatch.setitem(sys.modules, "onnx", None)
    normalised = model(VecNormalize(DummyVecEnv([lambda: gymnasium.make("CartPole-v1")])))
    with caplog.at_level(logging.WARNING, "muster"):
        normalised.learn(256, callback=MusterCallback(SUITE, every=128, directory=tmp_path / "without", server=server.url))
    assert caplog.messages[0].startswith("the policy of this training cannot be exported")
    assert caplog.messages[0].endswith("pip install onnx")

    caplog.clear()
    first = MusterCallback(SUITE, every=128, directory=tmp_path / "one", server=server.url, stop=FEW)
    second = MusterCallback(SUITE, every=128, directory=tmp_path / "one", server=server.url, stop=FEW)
    with caplog.at_level(logging.WARNING, "muster"):
        model().learn(256, callback=CallbackList([first, second]))
    assert "is in use by another evaluator" in caplog.text


class Doubled(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


def test_copies_pickles_forks_and_other_ranks_evaluate_nothing_twice(
    server: RealServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    callback = MusterCallback(SUITE, every=100, directory=tmp_path / "run", server=server.url, stop=FEW)
    callback.init_callback(model())
    again = pickle.loads(pickle.dumps(copy.deepcopy(callback)))
    assert model().learn(256, callback=again).num_timesteps == 256
    assert Record(tmp_path / "run").scores()[-1].step == 256

    monkeypatch.setenv("RANK", "1")
    other = MusterCallback(SUITE, every=100, directory=tmp_path / "other", server=server.url, stop=FEW)
    model().learn(128, callback=other)
    assert not (tmp_path / "other").exists()

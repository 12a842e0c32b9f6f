"""Zips of the real Stable-Baselines3 that the runner reads as they are: they play to the last bit as the library does."""

from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from stable_baselines3 import A2C, DQN, PPO, SAC, TD3
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize

from muster.exporting.errors import ExportError
from muster.exporting.played_observations import play_observations
from muster.exporting.runner_policies import load_runner_policy, runner_module
from muster.sb3.exported_model import stack_batch
from tests.training.test_export import CONTINUOUS, DISCRETE, MIXED, PERCEPTRONS, PICTURED, SMALL, trained

REPLAYED = (DQN, SAC, TD3)
CASES: list[tuple[Any, str, Any, Any, bool]] = [
    *((algorithm, "MlpPolicy", partial(gymnasium.make, name), {}, given) for algorithm, name in PERCEPTRONS for given in (False, True)),
    *((algorithm, "CnnPolicy", make, SMALL, False) for algorithm, make in PICTURED),
    *((algorithm, "MultiInputPolicy", make, {}, False) for algorithm, make in MIXED),
    # Stable-Baselines3 itself cannot keep transposed images in a replay buffer under VecNormalize.
    *((algorithm, "CnnPolicy", make, SMALL, True) for algorithm, make in PICTURED if algorithm not in REPLAYED),
    *((algorithm, "MultiInputPolicy", partial(make, algorithm not in REPLAYED), {}, True) for algorithm, make in MIXED),
]


def played(path: Path, environment: Any, observations: list[Any]) -> list[Any]:
    policy = load_runner_policy(path, environment.observation_space, environment.action_space)
    return [policy.act(observation) for observation in observations]


@pytest.mark.parametrize(("algorithm", "policy", "make", "kwargs", "is_normalised"), CASES)
def test_actions_equal_those_of_predict_one_by_one_and_in_batches(
    algorithm: Any, policy: str, make: Any, kwargs: Any, is_normalised: bool, tmp_path: Path
) -> None:
    vectors: Any = make_vec_env(make, 1, seed=1)
    if is_normalised:
        keys = {"norm_obs_keys": ["numbers"]} if policy == "MultiInputPolicy" else {}
        # Images are not normalised: the file says so.
        vectors = VecNormalize(vectors, clip_obs=1.5, norm_obs=policy != "CnnPolicy", **keys)
    model = trained(algorithm, policy, vectors, policy_kwargs=kwargs)
    model.save(tmp_path / "model.zip")
    if is_normalised:
        vectors.save(str(tmp_path / "vecnormalize.pkl"))
    environment = make()
    observations = play_observations(environment)
    batch = stack_batch(observations)
    given = vectors.normalize_obs(batch) if is_normalised else batch
    rows = [{name: part[place] for name, part in given.items()} if isinstance(given, dict) else given[place] for place in range(100)]
    expected = [model.predict(row, deterministic=True)[0] for row in rows]
    assert np.array_equal(played(tmp_path / "model.zip", environment, observations[:100]), expected)

    fit = runner_module("policies.checkpoint").Fit(environment.observation_space, environment.action_space, True)
    policy_of_rows = runner_module("policies.read_checkpoint").read_checkpoint(tmp_path).fit_rows(fit, len(observations))
    together = policy_of_rows.act_batch(np.arange(len(observations)), batch)
    assert np.array_equal(together, model.predict(given, deterministic=True)[0])


@pytest.mark.parametrize("algorithm", [PPO, A2C])
def test_a_model_whose_statistics_are_missing_is_refused_by_name(algorithm: Any, tmp_path: Path) -> None:
    model = trained(algorithm, "MlpPolicy", VecNormalize(make_vec_env(DISCRETE, 1)))
    model.save(tmp_path / "model.zip")
    with pytest.raises(ExportError, match=r"model\.zip was trained under VecNormalize .* put the file that VecNormalize\.save"):
        played(tmp_path / "model.zip", gymnasium.make(DISCRETE), [])


def test_a_mismatch_names_both_sides(tmp_path: Path) -> None:
    trained(PPO, "MlpPolicy", DISCRETE).save(tmp_path / "model.zip")
    with pytest.raises(ExportError, match=r"the observation of the environment is Box.*\(3,\).*, the policy takes Box.*\(4,\)"):
        played(tmp_path / "model.zip", gymnasium.make(CONTINUOUS), [])
    for name, content, message in (
        ("none.zip", b"no archive", "expected the zip that model"),
        ("vecnormalize.pkl", b"no pickle", r"vecnormalize\.pkl cannot be read"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ExportError, match=message):
            played(tmp_path / ("none.zip" if name == "none.zip" else "model.zip"), gymnasium.make(DISCRETE), [])

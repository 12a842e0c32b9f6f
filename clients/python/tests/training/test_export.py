"""Policies of the real Stable-Baselines3 as portable files, and what is caught before anything is played."""

import copy
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from gymnasium.wrappers import FrameStackObservation
from stable_baselines3 import A2C, DQN, PPO, SAC, TD3
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack, VecNormalize

from muster.exporting.errors import ExportError, MissingNormalisation, ParityError
from muster.exporting.parity import OBSERVATIONS
from muster.sb3 import export
from muster.sb3.policies import read_network
from tests.training.environments import Mixed, MixedChoices, Pictures, SteeredPictures
from tests.training.mutations import other_activation, untransposed, without_statistics

torch.set_num_threads(1)
SMALL = {"features_extractor_kwargs": {"features_dim": 16}}
OFF_POLICY = {"buffer_size": 200, "learning_starts": 60}


def trained(algorithm: Any, policy: str, environment: Any, **options: Any) -> Any:
    sizes = {"n_steps": 32, "batch_size": 32} if algorithm is PPO else {"n_steps": 32} if algorithm is A2C else OFF_POLICY
    # SAC writes into the options of its policy.
    return algorithm(policy, environment, device="cpu", seed=1, **sizes, **copy.deepcopy(options)).learn(64)


def normalised(name: str) -> VecNormalize:
    return VecNormalize(make_vec_env(name, 2, seed=1), clip_obs=1.5, epsilon=1e-3)


DISCRETE, CONTINUOUS = "CartPole-v1", "Pendulum-v1"
PERCEPTRONS = [(PPO, DISCRETE), (A2C, CONTINUOUS), (DQN, DISCRETE), (SAC, CONTINUOUS), (TD3, CONTINUOUS)]


@pytest.mark.parametrize(("algorithm", "name"), PERCEPTRONS)
def test_perceptrons_act_as_they_were_trained_with_and_without_normalisation(algorithm: Any, name: str, tmp_path: Path) -> None:
    plain = trained(algorithm, "MlpPolicy", name)
    plain.save(tmp_path / "plain.zip")
    assert export(tmp_path / "plain.zip", environment=name) == tmp_path / "plain.safetensors"

    environment = normalised(name)
    model = trained(algorithm, "MlpPolicy", environment)
    model.save(tmp_path / "model.zip")
    environment.save(str(tmp_path / "vecnormalize.pkl"))
    with pytest.raises(MissingNormalisation, match=r"trained under VecNormalize .* vec_normalize="):
        export(tmp_path / "model.zip", environment=name)
    written = export(tmp_path / "model.zip", environment=name, vec_normalize=tmp_path / "vecnormalize.pkl")
    assert written == tmp_path / "model.onnx"
    assert export(model, tmp_path / "live").read_bytes() == written.read_bytes()


@pytest.mark.parametrize("activation", [torch.nn.ELU, torch.nn.LeakyReLU, torch.nn.GELU, torch.nn.SiLU, torch.nn.Softplus])
def test_other_activations_are_exported_to_onnx(activation: Any, tmp_path: Path) -> None:
    model = trained(PPO, "MlpPolicy", "CartPole-v1", policy_kwargs={"activation_fn": activation})
    assert export(model, tmp_path / "policy").suffix == ".onnx"


PICTURED: list[tuple[Any, Any]] = [
    *((algorithm, Pictures) for algorithm in (PPO, A2C, DQN)),
    *((algorithm, SteeredPictures) for algorithm in (SAC, TD3)),
]
MIXED = [(PPO, Mixed), (A2C, Mixed), (DQN, MixedChoices), (SAC, Mixed), (TD3, Mixed)]
IMAGES: list[tuple[Any, Callable[[], Any], Callable[[], Any]]] = [
    *((algorithm, make, make) for algorithm, make in PICTURED),
    (PPO, lambda: VecFrameStack(DummyVecEnv([lambda: Pictures(2)]), 4), lambda: FrameStackObservation(Pictures(2), 4, padding_type="zero")),
]


@pytest.mark.parametrize(("algorithm", "trains_in", "plays_in"), IMAGES)
def test_images_are_transposed_stacked_and_divided_as_in_training(algorithm: Any, trains_in: Any, plays_in: Any, tmp_path: Path) -> None:
    model = trained(algorithm, "CnnPolicy", trains_in(), policy_kwargs=SMALL)
    assert export(model, tmp_path / "policy", environment=plays_in).suffix == ".onnx"


@pytest.mark.parametrize(("algorithm", "make"), MIXED)
@pytest.mark.parametrize("is_normalised", [False, True])
def test_dictionary_observations_are_flattened_in_their_order(algorithm: Any, make: Any, is_normalised: bool, tmp_path: Path) -> None:
    # Stable-Baselines3 itself cannot keep transposed images of a normalised dictionary in a replay buffer.
    plays_in = partial(make, not is_normalised or algorithm in (PPO, A2C))
    vectors = DummyVecEnv([plays_in])
    environment = VecNormalize(vectors, norm_obs_keys=["numbers"]) if is_normalised else vectors
    model = trained(algorithm, "MultiInputPolicy", environment, policy_kwargs={"features_extractor_kwargs": {"cnn_output_dim": 8}})
    assert export(model, tmp_path / "policy", environment=plays_in).suffix == ".onnx"


MUTATIONS = [
    ("statistics left out", "MlpPolicy", lambda: normalised(CONTINUOUS), None, without_statistics, r"differs is observation\.preprocessed"),
    ("another activation", "MlpPolicy", lambda: DISCRETE, None, other_activation, r"differs is mlp_extractor\.policy_net\.1"),
    ("images transposed", "CnnPolicy", Pictures, Pictures, untransposed, r"differs is observation\.preprocessed"),
]


@pytest.mark.parametrize(("policy", "trains_in", "plays_in", "mutate", "named"), [m[1:] for m in MUTATIONS], ids=[m[0] for m in MUTATIONS])
def test_a_wrong_export_is_detected_and_its_first_layer_named(
    policy: str, trains_in: Any, plays_in: Any, mutate: Any, named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    model = trained(PPO, policy, trains_in(), policy_kwargs={"ortho_init": False, **(SMALL if policy == "CnnPolicy" else {})})
    for parameter in model.policy.parameters():
        parameter.data = torch.randn_like(parameter) * 0.5
    monkeypatch.setattr("muster.sb3.snapshot.read_network", lambda *given: mutate(read_network(*given)))
    with pytest.raises(ParityError, match=named) as caught:
        export(model, tmp_path / "policy", environment=plays_in)
    assert f"of {OBSERVATIONS} observations" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


class Custom(BaseFeaturesExtractor):
    def __init__(self, observation_space: Any) -> None:
        super().__init__(observation_space, 4)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        return observations * 2


def test_an_unsupported_model_is_refused_with_an_alternative(tmp_path: Path) -> None:
    model = trained(PPO, "MlpPolicy", "CartPole-v1", policy_kwargs={"features_extractor_class": Custom})
    with pytest.raises(ExportError, match=r"features_extractor is a tests\.training\.test_export\.Custom, .*ONNX or TorchScript"):
        export(model, tmp_path / "policy")
    plain = trained(PPO, "MlpPolicy", "CartPole-v1")
    with pytest.raises(ExportError, match=r"observation of the environment is Box.*\(3,\).*takes Box.*\(4,\)"):
        export(plain, tmp_path / "policy", environment="Pendulum-v1")
    plain.policy.__class__ = type("Mine", (type(plain.policy),), {})
    with pytest.raises(ExportError, match="a custom class; known are those of PPO, A2C"):
        export(plain, tmp_path / "policy")
    assert list(tmp_path.iterdir()) == []


def test_an_invalid_zip_and_one_of_another_version_or_algorithm_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.zip"
    path.write_bytes(b"weights")
    with pytest.raises(ExportError, match=r"model\.zip cannot be read .*; expected the zip that model\.save\(\)"):
        export(path)
    trained(PPO, "MlpPolicy", "CartPole-v1").save(path)
    rewritten(path, tmp_path / "old.zip", {"_stable_baselines3_version": b"1.2.0", "policy.pth": b"of another layout"})
    with pytest.raises(ExportError, match=r"written by Stable-Baselines3 1\.2\.0, and 2\.\S+, which .* cannot load it as PPO"):
        export(tmp_path / "old.zip", environment="CartPole-v1")
    rewritten(path, tmp_path / "unknown.zip", {"data": b'{"epochs": 3}'})
    with pytest.raises(ExportError, match=r"of an unknown algorithm \(it saves epochs, …\); expected PPO, A2C"):
        export(tmp_path / "unknown.zip")


def rewritten(path: Path, target: Path, entries: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path) as before, zipfile.ZipFile(target, "w") as after:
        for name in before.namelist():
            after.writestr(name, entries.get(name, before.read(name)))


def test_an_export_contains_no_code(tmp_path: Path) -> None:
    written = export(trained(PPO, "CnnPolicy", Pictures(), policy_kwargs=SMALL), tmp_path / "policy", environment=Pictures)
    assert not any(sign in written.read_bytes() for sign in (b"cloudpickle", b"torch", b"stable_baselines3"))

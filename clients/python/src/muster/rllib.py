"""RLlib: its RLModules as portable files, and a callback that evaluates beside training.

from muster.rllib import MusterCallback

config.callbacks(on_train_result=MusterCallback("cartpole.yaml", every=50_000))
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from muster.exporting.errors import ExportError
from muster.exporting.network import Array, Normalise
from muster.exporting.played_observations import play_observations
from muster.exporting.snapshot import Snapshot
from muster.exporting.torch_layers import HOW, permute_module
from muster.exporting.torch_policy import preprocess, torch_snapshot
from muster.training.evaluator import TrainingEvaluator
from muster.training.periodic import EvaluatorOptions, PeriodicEvaluator
from muster.training.standing import Score
from muster_client import SuiteLike
from muster_client.arguments import suggests_keywords

POLICY = "default_policy"
IN_ALGORITHM = Path("learner_group/learner/rl_module") / POLICY
"""The path of the policy's module in a checkpoint of an Algorithm."""
STEPS = "num_env_steps_sampled_lifetime"


@suggests_keywords
def export(module: Any, path: str | Path, *, environment: Any, normalise: Normalise | None = None) -> Path:
    """Writes the policy of an RLModule as one file, after 1,000 observations on which it acts as the module's inference does.

    @param module: the RLModule, or the directory of its checkpoint or of an Algorithm's, whose pickles are run: export only your own.
    @param path: of the file, without an ending.
    @param environment: name of a registered environment, or a gymnasium.Env as the suite makes it.
    @param normalise: what the connector MeanStdFilter did to observations in the training; a module's checkpoint does not tell.
    Raises ExportError naming what is not known, and ParityError. Neither leaves a file.
    """
    import gymnasium

    player = gymnasium.make(environment) if isinstance(environment, str) else environment
    try:
        loaded = _loaded(Path(module)) if isinstance(module, (str, Path)) else module
        taken = snapshot(loaded, player.observation_space, player.action_space, play_observations(player), normalise=normalise)
    finally:
        if player is not environment:
            player.close()
    written = Path(path).with_name(Path(path).name + taken.suffix)
    taken.write(written)
    return written


@suggests_keywords
def snapshot(
    module: Any, observation_space: Any, action_space: Any, observations: Sequence[Any], *, normalise: Normalise | None = None
) -> Snapshot:
    """Copies a module's weights, and the best actions that its own inference and RLlib's connectors make of observations.

    @param module: of PPO, APPO, IMPALA, SAC or DQN, whose encoder is a perceptron or a convolutional network.
    @param observations: single ones, as the environment gives them.
    Raises ExportError naming what is not known.
    """
    steps = () if normalise is None else (normalise,)
    taken = torch_snapshot(_read_network(module, action_space), observation_space, action_space, observations, steps=steps)
    rows = preprocess(np.stack([np.asarray(observation) for observation in observations]), steps)
    return replace(taken, reference=replace(taken.reference, actions=_actions(module, rows, action_space)))


class MusterCallback:
    """Has the policy of an Algorithm evaluated every so many environment steps, while the training goes on.

    Give it as `on_train_result`. When the algorithm is stopped (`algorithm.stop()`, the end of a trial of Tune), its last policy is
    evaluated, and waited for. It may be copied and pickled.

    @param every: environment steps between two checkpoints.
    @param environment: that 1,000 observations are taken from: a name, or a gymnasium.Env; the algorithm's own name when left out.
    @param normalise: see `export`.
    The other parameters are those of TrainingEvaluator.
    """

    @suggests_keywords
    def __init__(
        self,
        suite: SuiteLike,
        *,
        every: int,
        environment: Any = None,
        normalise: Normalise | None = None,
        **options: Unpack[EvaluatorOptions],
    ) -> None:
        self._periodic = PeriodicEvaluator(suite, every, **options)
        self._environment, self._normalise = environment, normalise
        self._seen: tuple[Any, Any, list[Any]] | None = None
        self._step: int | None = None

    @property
    def best(self) -> Score | None:
        """The score of the best checkpoint. Another one replaces it when its interval lies above this one's."""
        return self._periodic.best

    @property
    def evaluator(self) -> TrainingEvaluator:
        return self._periodic.evaluator

    def __call__(self, *, algorithm: Any, result: dict[str, Any], **_: Any) -> None:
        if self._step is None:
            self._periodic.begin(0)
            # RLlib calls no callback at the end of a training.
            algorithm.cleanup = partial(self._end, algorithm, algorithm.cleanup)
        self._step = int(result.get(STEPS, result.get("env_runners", {}).get(STEPS, 0)))
        if not self._periodic.step(self._step, lambda: self._take_snapshot(algorithm)):
            # The key that `Tune` and loops over `train` read.
            result["done"] = True

    def _end(self, algorithm: Any, cleanup: Any) -> None:
        try:
            self._periodic.finish(self._step or 0, lambda: self._take_snapshot(algorithm))
        finally:
            cleanup()

    def _take_snapshot(self, algorithm: Any) -> Snapshot:
        if self._seen is None:
            self._seen = self._collect_observations(algorithm)
        return snapshot(algorithm.get_module(POLICY), *self._seen, normalise=self._normalise)

    def _collect_observations(self, algorithm: Any) -> tuple[Any, Any, list[Any]]:
        import gymnasium

        given = self._environment if self._environment is not None else algorithm.config.env
        try:
            player = gymnasium.make(given, **algorithm.config.env_config) if isinstance(given, str) else given
            if not isinstance(player, gymnasium.Env):
                raise ExportError(f"{player!r} is no gymnasium.Env")
        except (gymnasium.error.Error, ExportError) as error:
            raise ExportError(f'the algorithm\'s environment cannot be made ({error}); give environment="CartPole-v1"') from error
        return player.observation_space, player.action_space, play_observations(player)


def _loaded(path: Path) -> Any:
    from ray.rllib.core.rl_module.rl_module import RLModule

    found = path / IN_ALGORITHM if (path / IN_ALGORITHM).is_dir() else path
    if not (found / "class_and_ctor_args.pkl").is_file():
        raise ExportError(f"{path} holds no RLModule; expected the directory that save_to_path of an RLModule or an Algorithm wrote")
    try:
        return RLModule.from_checkpoint(str(found.absolute()))
    except Exception as error:
        # Unpickling data of another version, or with missing classes, may raise any exception.
        import ray

        raise ExportError(f"{found} cannot be loaded by Ray {ray.__version__} ({error}); install the version that wrote it") from error


def _read_network(module: Any, action_space: Any) -> Any:
    """Returns the layers from an observation to logits, or to means in the units of the action space, which are then clipped to its bounds.

    That also holds for SAC: RLlib draws from a squashed distribution, and its own best action is the mean before it is squashed.
    """
    from gymnasium import spaces
    from torch import nn

    encoder = getattr(module, "pi_encoder", None)
    if encoder is None:
        encoder = getattr(module, "encoder", None)
        # A module with an actor and a critic has an actor's encoder, or a shared one.
        encoder = next((part for name in ("actor_encoder", "encoder") if (part := getattr(encoder, name, None)) is not None), encoder)
    head = getattr(module, "pi", None) or getattr(module, "af", None)
    if encoder is None or head is None:
        raise ExportError(f"{type(module).__name__} has no encoder with a head pi or af, as those of PPO, SAC and DQN have. {HOW}")
    layers = [*_list_layers(encoder), *_list_layers(head)]
    if isinstance(action_space, spaces.Box):
        layers[-1] = _scale_mean(layers[-1], action_space)
    return nn.Sequential(*layers)


def _list_layers(part: Any) -> list[Any]:
    """Lists the layers in the order in which the part computes them. Its convolutions take and return images with the channels last."""
    from torch import nn

    net = getattr(part, "net", None)
    if (perceptron := getattr(net, "mlp", None)) is not None:
        return list(perceptron)
    if not isinstance(net, nn.Sequential) or (convolutions := getattr(net[0], "cnn", None)) is None:
        raise ExportError(f"{type(part).__name__} is neither a perceptron nor a convolutional network. {HOW}")
    permute = permute_module()
    return [permute((2, 0, 1)), *convolutions, permute((1, 2, 0)), *net[1:]]


def _scale_mean(last: Any, space: Any) -> Any:
    """Returns a layer without the spreads that follow its means, scaled from [-1, 1] as the connector NormalizeAndClipActions does."""
    import torch
    from torch import nn

    size = int(np.prod(space.shape))
    mean = nn.Linear(last.in_features, size)
    is_bounded = bool(np.all(space.bounded_below) and np.all(space.bounded_above))
    half = (space.high - space.low).reshape(-1) / 2 if is_bounded else np.ones(size)
    middle = (space.high + space.low).reshape(-1) / 2 if is_bounded else np.zeros(size)
    with torch.no_grad():
        factor = torch.as_tensor(half, dtype=torch.float32)
        mean.weight.copy_(last.weight[:size].cpu() * factor[:, None])
        mean.bias.copy_(last.bias[:size].cpu() * factor + torch.as_tensor(middle, dtype=torch.float32))
    return mean


def _actions(module: Any, rows: Array, space: Any) -> Array:
    """Returns the output of the module's inference and the connectors after it for a batch."""
    import torch
    from gymnasium import spaces
    from ray.rllib.utils.spaces.space_utils import unsquash_action

    with torch.no_grad():
        outputs = module.forward_inference({"obs": torch.as_tensor(rows)})
        actions = outputs.get("actions")
        if actions is None:
            kind = module.get_inference_action_dist_cls()
            actions = kind.from_logits(outputs["action_dist_inputs"]).to_deterministic().sample()
    found: Array = actions.cpu().numpy()
    if isinstance(space, spaces.Box):
        return np.asarray(unsquash_action(found.reshape(-1, *space.shape), space))
    return found

"""Plays seeded episodes with a fixed policy, and measures what the README of the examples reports."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from examples.training.checkpoint import read_policy

Policy = Callable[[NDArray[np.float32]], Any]


@dataclass(frozen=True)
class Played:
    returns: NDArray[np.float64]
    """[episodes]"""
    metrics: dict[str, float]
    """Means of the numbers in the last step's info."""


def play(environment: gymnasium.Env[Any, Any], policy: Policy, seeds: Sequence[int]) -> Played:
    """Plays one episode for each seed."""
    returns: list[float] = []
    infos: list[dict[str, float]] = []
    for seed in seeds:
        observation, _ = environment.reset(seed=seed)
        total, ended = 0.0, False
        while not ended:
            observation, reward, terminated, truncated, info = environment.step(policy(observation))
            total += float(reward)
            ended = terminated or truncated
        returns.append(total)
        infos.append({name: float(value) for name, value in info.items() if isinstance(value, int | float)})
    return Played(np.array(returns), {name: float(np.mean([info[name] for info in infos])) for name in infos[0]})


def play_checkpoint(environment: gymnasium.Env[Any, Any], path: Path, seeds: Sequence[int]) -> Played:
    return play(environment, read_policy(path, environment.action_space), seeds)


def measurement_parser(description: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("checkpoints", type=Path, nargs="*", help="safetensors files to play beside the baselines")
    parser.add_argument("--episodes", type=int, default=1000, help="of each (default: 1000)")
    parser.add_argument(
        "--seed", type=int, default=1_000_000, help="of the first episode; the next have the numbers that follow (default: 1000000)"
    )
    return parser


def report(arguments: argparse.Namespace, environments: Mapping[str, gymnasium.Env[Any, Any]], baselines: Mapping[str, Policy]) -> None:
    """Plays baselines, then checkpoints, in each environment.

    The difference is from the last baseline, episode by episode on the same seeds.
    """
    seeds = range(arguments.seed, arguments.seed + arguments.episodes)
    for task, environment in environments.items():
        reference = np.zeros(len(seeds))
        for name, baseline in baselines.items():
            played = play(environment, baseline, seeds)
            reference = played.returns
            print(f"{task}  {name}: {_line(played)}", flush=True)
        for path in arguments.checkpoints:
            played = play_checkpoint(environment, path, seeds)
            print(f"{task}  {path.stem}: {_line(played)}  difference {_mean(played.returns - reference)}", flush=True)


def _line(played: Played) -> str:
    metrics = "".join(f"  {name} {value:.3f}" for name, value in played.metrics.items())
    return f"return {_mean(played.returns)}  sd {played.returns.std(ddof=1):.3f}{metrics}"


def _mean(values: NDArray[np.float64]) -> str:
    """Formats the mean with the half-width of its normal 95 % interval."""
    return f"{values.mean():.4f} ± {1.96 * values.std(ddof=1) / len(values) ** 0.5:.4f}"

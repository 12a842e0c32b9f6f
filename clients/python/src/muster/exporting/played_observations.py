"""Collects observations on which an exported policy is compared."""

from typing import Any

from muster.exporting.parity import OBSERVATIONS

SEED = 0


def play_observations(environment: Any) -> list[Any]:
    """Returns 1,000 observations of a gymnasium.Env, which it plays with random actions."""
    environment.action_space.seed(SEED)
    seen: list[Any] = []
    while len(seen) < OBSERVATIONS:
        observation, _ = environment.reset(seed=SEED if not seen else None)
        seen.append(observation)
        is_over = False
        while not is_over and len(seen) < OBSERVATIONS:
            observation, _, terminated, truncated, _ = environment.step(environment.action_space.sample())
            seen.append(observation)
            is_over = terminated or truncated
    return seen

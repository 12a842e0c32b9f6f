"""A catalogue and one user's session with it: which category should the next slate show?

A user has hidden tastes: a latent vector whose product with a category's vector says how much the category appeals.
Tastes drift while the session lasts, and every slate of a category makes the user a little tired of it. A slate that appeals
is clicked and watched for a part; one that does not costs patience, and a user without patience leaves.

So the best category by past sessions is a good start and a poor plan: it bores, and it misses where the interest went.

All chance is drawn at reset. Two policies with the same seed meet the same user, with the same drift and the same luck, and
their difference tells about the policies.
"""

import math
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

CATEGORIES = 8
TASTES = 4
"""Length of the latent vectors."""
LONGEST_SESSION = 40
"""Slates. Each is worth 0 to 1, so a session is worth 0 to LONGEST_SESSION."""

_CATALOGUE_SEED = 20
_RECENT = 0.7
"""What is left after one slate of what the recommender remembers of the previous ones."""


@dataclass(frozen=True)
class Users:
    """What users are like. Appeal and boredom are in units of the logit of a click."""

    base_appeal: float = 0.0
    drift: float = 0.35
    """Standard deviation of a taste's random step from one slate to the next."""
    profile_noise: float = 1.0
    """Standard deviation of the error in what past sessions say about a category's appeal."""
    boredom: float = 0.9
    """Added by each slate of a category."""
    recovery: float = 0.85
    """What is left of boredom after each slate."""
    patience: float = 3.5
    """Slates without a click in a row, at which the chance to leave is one half."""


class Catalogue(gymnasium.Env[NDArray[np.float32], np.int64]):
    """Observation, 3 × 8 + 3 numbers: the profile's appeal of each category; then of each, with the past fading, how much
    was watched and how often it was shown; then slates without a click in a row, what the last slate brought, and how much of the
    longest session has passed (each from 0 to 1). Action: the category of the next slate. Reward: the part that was watched, 0 to 1.

    The episode terminates when the user leaves and is truncated after `LONGEST_SESSION` slates.
    Last info: `sessionLength` (slates), `clickRate` (0 to 1), `diversity` (0 one category only … 1 all equally often).
    """

    def __init__(self, users: Users) -> None:
        self._users = users
        # The catalogue is the same in every session, on every machine.
        vectors = np.random.Generator(np.random.PCG64(_CATALOGUE_SEED)).standard_normal((CATEGORIES, TASTES))
        self._vectors = vectors / np.sqrt((vectors**2).sum(axis=1, keepdims=True)) * 1.5
        low = np.concatenate([np.full(CATEGORIES, -10.0), np.zeros(2 * CATEGORIES + 3)]).astype(np.float32)
        high = np.concatenate([np.full(3 * CATEGORIES, 10.0), np.ones(3)]).astype(np.float32)
        self.observation_space = gymnasium.spaces.Box(low, high, dtype=np.float32)
        self.action_space = gymnasium.spaces.Discrete(CATEGORIES)

    def reset(
        self,
        *,
        seed: int | None = None,
        options: dict[str, Any] | None = None,  # noqa: ARG002 (part of gymnasium's interface)
    ) -> tuple[NDArray[np.float32], dict[str, float]]:
        super().reset(seed=seed)
        users, chance = self._users, self.np_random
        steps = chance.standard_normal((LONGEST_SESSION, TASTES)) * users.drift
        steps[0] = chance.standard_normal(TASTES)
        tastes = np.cumsum(steps, axis=0)
        # Not `@`: the order in which a matrix product sums depends on the processor, and an episode should not.
        appeal = (tastes[:, None, :] * self._vectors[None]).sum(axis=2)
        profile = appeal[0] + users.profile_noise * chance.standard_normal(CATEGORIES)
        self._appeal: list[list[float]] = (appeal + users.base_appeal).tolist()
        self._luck: list[list[float]] = chance.random((LONGEST_SESSION, 3)).tolist()
        self._boredom = [0.0] * CATEGORIES
        self._shown = [0] * CATEGORIES
        self._step = self._clicks = self._skips = 0
        self._observation = np.zeros(3 * CATEGORIES + 3, np.float32)
        self._observation[:CATEGORIES] = np.clip(profile, -10, 10)
        return self._observation.copy(), {}

    def step(self, action: np.int64) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, float]]:
        category = int(action)
        if not 0 <= category < CATEGORIES:
            raise ValueError(f"action: expected a category from 0 to {CATEGORIES - 1}, not {action}")
        watched = self._show(category)
        self._observe(category, watched)
        leaves = self._luck[self._step][2] < self._chance_to_leave()
        self._step += 1
        over = not leaves and self._step == LONGEST_SESSION
        return self._observation.copy(), watched, leaves, over, self._session() if leaves or over else {}

    def _show(self, category: int) -> float:
        users = self._users
        click_luck, watch_luck, _ = self._luck[self._step]
        liking = _logistic(self._appeal[self._step][category] - self._boredom[category])
        self._boredom = [users.recovery * boredom for boredom in self._boredom]
        self._boredom[category] += users.boredom
        self._shown[category] += 1
        if click_luck >= liking:
            self._skips += 1
            return 0.0
        self._clicks += 1
        self._skips = 0
        # Who likes it more watches more: between half of the liking and all of what is left above it.
        return liking * (0.5 + 0.5 * watch_luck)

    def _chance_to_leave(self) -> float:
        return _logistic(2.0 * (self._skips - self._users.patience)) if self._skips else 0.0

    def _observe(self, category: int, watched: float) -> None:
        seen = self._observation
        seen[CATEGORIES : 3 * CATEGORIES] *= np.float32(_RECENT)
        seen[CATEGORIES + category] += watched
        seen[2 * CATEGORIES + category] += 1
        seen[-3] = min(1.0, self._skips / 8)
        seen[-2] = watched
        seen[-1] = (self._step + 1) / LONGEST_SESSION

    def _session(self) -> dict[str, float]:
        shares = np.array([count / self._step for count in self._shown if count])
        return {
            "sessionLength": float(self._step),
            "clickRate": self._clicks / self._step,
            "diversity": abs(float(-(shares * np.log(shares)).sum() / np.log(CATEGORIES))),
        }


def make(**users: float) -> Catalogue:
    """The suite's entry. Keyword arguments: the fields of `Users`."""
    return Catalogue(Users(**users))


def _logistic(x: float) -> float:
    # Past 700 the exponential would overflow, and the result is 0 to any precision.
    return 1.0 / (1.0 + math.exp(min(-x, 700.0)))

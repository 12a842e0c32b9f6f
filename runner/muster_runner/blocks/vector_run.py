"""Plays the episodes of one vector environment: one for each row, until all have ended."""

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from muster_runner.blocks.autoreset import Autoreset, detect_autoreset
from muster_runner.blocks.vector_asked_rows import AskedRows
from muster_runner.environments import VectorEnvironment
from muster_runner.episode import Failed, Outcome, PolicyCrash, complete_episode, fail_episode, measure
from muster_runner.frames import Episode
from muster_runner.nan_observations import has_nan
from muster_runner.policies.rows_policy import RowFaults, RowsPolicy
from muster_runner.random_state import seed_global_generators

Flags = NDArray[np.bool_]


class VectorRun:
    """The episodes of one vector environment, one for each row.

    To count the rows that end first would favour short episodes. So a row plays until all have ended, and what follows its first end is
    ignored. An exception counts for every row, because its row is unknown.
    """

    def __init__(
        self, environment: VectorEnvironment, policy: RowsPolicy, episodes: Sequence[Episode], metrics: tuple[str, ...], limit: float
    ) -> None:
        """@param limit: seconds that an episode may take. A step's time is shared among the rows whose episode has not ended."""
        self._environment = environment
        self._mode = detect_autoreset(environment)
        self._policy = policy
        self._episodes = episodes
        self._metrics = metrics
        self._limit = limit
        self._outcomes: list[Outcome | None] = [None] * len(episodes)
        self._saw_nan = False
        self.forward_seconds = 0.0
        self.is_intact = True
        """Whether the environment may be used again."""

    def play(self) -> Sequence[Outcome]:
        failed: Failed | None = None
        try:
            self._run()
        except PolicyCrash as crash:
            failed = fail_episode(_pick_first(crash.__cause__ or crash), "policy-crash")
        except BaseException as error:
            failed = fail_episode(error, "environment-crash")
        if failed is not None:
            self.is_intact = False
            return [failed] * len(self._episodes)
        return [outcome for outcome in self._outcomes if outcome is not None]

    def _run(self) -> None:
        observations = self._reset()
        environment, count = self._environment, len(self._episodes)
        asked = AskedRows(self._policy, count)
        act, waiting, totals = asked.act, np.ones(count, bool), np.zeros(count)
        left, length, charged = count, 0, 0.0
        while left:
            began = perf_counter()
            try:
                actions = act(observations)
            except BaseException as error:
                raise PolicyCrash from error
            self.forward_seconds += perf_counter() - began
            observations, rewards, terminated, truncated, info = environment.step(actions)
            if length == 0:
                _check_shapes(count, reward=rewards, terminated=terminated, truncated=truncated)
            length += 1
            if left == count:
                totals += rewards
            else:
                np.add(totals, rewards, totals, where=waiting)
            over: Flags = np.logical_or(terminated, truncated)
            charged += (perf_counter() - began) / left
            if np.count_nonzero(over):
                self._saw_nan = self._saw_nan or has_nan(observations)
                left -= self._end(over & waiting, totals, length, info)
                waiting &= ~over
                asked.heed(waiting, left)
                if self._mode is Autoreset.DISABLED and left:
                    observations, _ = environment.reset(options={"reset_mask": np.array(over, bool)})
            if charged > self._limit and left:
                return self._end_overdue(waiting, charged)
        return None

    def _reset(self) -> Any:
        first = self._episodes[0]
        seed_global_generators(first.environment_seed)
        self._policy.begin_block(first.policy_seed)
        observations, _ = self._environment.reset(seed=first.environment_seed)
        self._check_observations(observations)
        self._saw_nan = has_nan(observations)
        try:
            for row, episode in enumerate(self._episodes):
                self._policy.reset_row(row, episode.policy_seed)
        except BaseException as error:
            raise PolicyCrash from error
        return observations

    def _check_observations(self, observations: Any) -> None:
        """Checks the shape of observations. Otherwise NumPy would broadcast a wrong one, or the policy would get the blame."""
        space = self._environment.single_observation_space
        expected = (len(self._episodes), *(space.shape or ()))
        if isinstance(space, spaces.Box) and np.shape(observations) != expected:
            raise ValueError(f"the observations have the shape {np.shape(observations)}, expected {expected}")

    def _end(self, over: Flags, totals: NDArray[np.float64], length: int, info: Any) -> int:
        """Notes the rows that end. @returns the number of episodes that have ended."""
        rows: list[int] = over.nonzero()[0].tolist()
        for row in rows:
            metrics = measure(self._pick_last_info(info, row), self._metrics) if self._metrics else {}
            outcome = self._outcomes[row] = complete_episode(float(totals[row]), length, metrics, saw_nan=self._saw_nan)
            self.is_intact = self.is_intact and not isinstance(outcome, Failed)
        return len(rows)

    def _end_overdue(self, waiting: Flags, charged: float) -> None:
        detail = f"the episode took {charged:.3g} s of its row's time, the limit is {self._limit:g} s"
        for row in waiting.nonzero()[0].tolist():
            self._outcomes[row] = Failed("timeout", detail)
        self.is_intact = False

    def _pick_last_info(self, info: Any, row: int) -> dict[str, Any]:
        """Returns the info of the episode's last step. It is in `final_info` where rows are reset in the same step."""
        if self._mode is Autoreset.SAME_STEP and "final_info" in info:
            info = info["final_info"]
        if not isinstance(info, dict):
            # Before 1.0, Gymnasium gave an array with a dictionary for each row.
            last: dict[str, Any] = info[row]
            return last
        named = [name for name in self._metrics if name in info and (f"_{name}" not in info or info[f"_{name}"][row])]
        return {name: info[name][row] for name in named}


def _check_shapes(count: int, **arrays: Any) -> None:
    for name, array in arrays.items():
        if np.shape(array) != (count,):
            raise ValueError(f"{name} has the shape {np.shape(array)}, expected ({count},): one for each row")


def _pick_first(error: BaseException) -> BaseException:
    return next(iter(error.errors.values())) if isinstance(error, RowFaults) else error

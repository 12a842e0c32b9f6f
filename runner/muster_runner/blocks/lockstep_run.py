"""Plays one block in lockstep, from its first reset to its last outcome."""

from collections.abc import Iterable, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from muster_runner.blocks.asked_rows import ask, ask_each
from muster_runner.blocks.block_player import PlayedBlock
from muster_runner.blocks.environment_pool import EnvironmentPool
from muster_runner.blocks.lockstep_row import Row
from muster_runner.blocks.step_watch import OverdueStep, StepWatch
from muster_runner.environment_answers import assert_info, read_reward
from muster_runner.environments import close_environment
from muster_runner.episode import Completed, Failed, Outcome, complete_episode, fail_episode, measure
from muster_runner.frames import Batching, Episode
from muster_runner.nan_observations import has_nan
from muster_runner.policies.rows_policy import Rows, RowsPolicy
from muster_runner.prints import EpisodePrints
from muster_runner.random_state import seed_global_generators


class LockstepRun:
    """One block in lockstep. Its rows begin with the first episodes. A row whose episode ends takes the next episode, the lowest row first.

    The block alone decides the order of events, and so every draw from a generator that rows share.
    """

    def __init__(
        self,
        batching: Batching,
        metrics: tuple[str, ...],
        pool: EnvironmentPool,
        policies: Sequence[RowsPolicy],
        episodes: Sequence[Episode],
        prints: EpisodePrints,
    ) -> None:
        self._limit = batching.episode_seconds
        self._metrics = metrics
        self._pool = pool
        self._policies = policies
        self._only_policy = policies[0] if all(policy is policies[0] for policy in policies) else None
        self._episodes = episodes
        self._prints = prints
        self._outcomes: list[Outcome | None] = [None] * len(episodes)
        self._logs = [""] * len(episodes)
        self._rows = [Row(number) for number in range(min(batching.width, len(episodes)))]
        self._begun = 0
        self._steps = 0
        self._forward_seconds = 0.0
        self._shared_seconds = 0.0
        self._active: Row | None = None
        """The row whose environment runs at the moment."""
        self._prints.take()

    def play(self) -> PlayedBlock:
        self._began = perf_counter()
        seed_global_generators(self._episodes[0].environment_seed)
        for policy in dict.fromkeys(self._policies):
            policy.begin_block(self._episodes[0].policy_seed)
        with StepWatch(self._limit, self._get_progress):
            self._seat(row for row in self._rows if self._begin_next(row))
            while self._rows:
                done = self._step(*self._choose_actions())
                self._steps += 1
                if perf_counter() - self._began > self._limit:
                    self._end_overdue(done)
                if done:
                    self._refill(done)
        return PlayedBlock([outcome for outcome in self._outcomes if outcome is not None], self._logs, self._forward_seconds)

    def _get_progress(self) -> tuple[int, int, int] | None:
        return None if self._active is None else (self._active.number, self._steps, self._begun)

    def _seat(self, rows: Iterable[Row]) -> None:
        """Sets the rows that play from here on."""
        self._rows = list(rows)
        self._numbers: Rows = np.array([row.number for row in self._rows], np.int64)

    def _begin_next(self, row: Row) -> bool:
        """Begins the next episode whose environment can be reset, and gives the episodes before it their outcome. Returns False when none
        is left.
        """
        while self._begun < len(self._episodes):
            row.place, self._begun = self._begun, self._begun + 1
            failed = self._begin(row, self._episodes[row.place])
            if failed is None:
                return True
            self._end(row, failed)
        self._release(row)
        return False

    def _begin(self, row: Row, episode: Episode) -> Failed | None:
        """Begins an episode. @returns the failure if it cannot begin."""
        began = perf_counter()
        row.total, row.first_step, row.shared_before = 0.0, self._steps, self._shared_seconds
        row.policy = self._policies[episode.task]
        try:
            failed = self._reset(row, row.policy, episode)
        except OverdueStep:
            failed = self._create_timeout()
        finally:
            self._active = None
        row.seconds = perf_counter() - began
        return failed

    def _reset(self, row: Row, policy: RowsPolicy, episode: Episode) -> Failed | None:
        """Resets environment and policy. @returns the failure if that raises. @raises OverdueStep"""
        try:
            self._active = row
            self._reset_environment(row, episode)
            self._active = None
        except OverdueStep:
            raise
        except BaseException as error:
            return fail_episode(error, "environment-crash")
        try:
            policy.reset_row(row.number, episode.policy_seed)
        except BaseException as error:
            return fail_episode(error, "policy-crash")
        return None

    def _reset_environment(self, row: Row, episode: Episode) -> None:
        if row.environment is None or row.episode is None or row.episode.task != episode.task:
            self._release(row)
            row.environment = self._pool.take(episode.task)
        row.episode = episode
        row.step = row.environment.step
        row.observation, row.info = row.environment.reset(seed=episode.environment_seed)
        assert_info(row.info)
        row.saw_nan = has_nan(row.observation)

    def _release(self, row: Row) -> None:
        environment, row.environment = row.environment, None
        if environment is not None and row.episode is not None:
            self._pool.give(row.episode.task, environment)

    def _choose_actions(self) -> tuple[Sequence[Row], Sequence[Any], dict[Row, Failed]]:
        """Returns the rows that have an action, their actions, and the failures of the other rows."""
        rows, began = self._rows, perf_counter()
        actions, failed = ask(self._only_policy, rows, self._numbers) if self._only_policy else ask_each(rows)
        seconds = perf_counter() - began
        self._forward_seconds += seconds
        self._shared_seconds += seconds / len(rows)
        if self._prints.total:
            # Output of the policy belongs to all rows. It is kept with the first.
            self._prints.pour_into(rows[0].prints)
        if failed:
            pairs = [(row, action) for row, action in zip(rows, actions, strict=True) if row not in failed]
            return [row for row, _ in pairs], [action for _, action in pairs], failed
        return rows, actions, failed

    def _step(self, rows: Sequence[Row], actions: Sequence[Any], failed: dict[Row, Failed]) -> dict[Row, Outcome]:
        """Steps the environments in the order of the rows. @returns the outcomes of episodes that are over."""
        done: dict[Row, Outcome] = {**failed}
        pairs = zip(rows, actions, strict=True)
        is_through = False
        while not is_through:
            try:
                self._step_each(pairs, done)
                is_through = True
            except OverdueStep:
                # The alarm may have struck just after the step. The row has exceeded its time either way.
                if self._active is not None:
                    done[self._active] = self._create_timeout()
        self._active = None
        return done

    def _step_each(self, pairs: Iterable[tuple[Row, Any]], done: dict[Row, Outcome]) -> None:
        """Steps each row, where nearly all of the time is spent. @raises OverdueStep when the active row's environment did not return."""
        prints = self._prints
        now = perf_counter()
        for row, action in pairs:
            self._active = row
            try:
                row.observation, reward, terminated, truncated, row.info = row.step(action)
                row.total += reward if reward.__class__ is float else read_reward(reward)
                is_over = terminated or truncated
            except OverdueStep:
                raise
            except BaseException as error:
                done[row] = fail_episode(error, "environment-crash")
                is_over = False
            before, now = now, perf_counter()
            row.seconds += now - before
            if prints.total:
                prints.pour_into(row.prints)
            if is_over:
                done[row] = self._end_episode(row)

    def _create_timeout(self) -> Failed:
        return Failed("timeout", f"the environment did not come back within {self._limit:g} s, which is all that an episode may take")

    def _end_episode(self, row: Row) -> Outcome:
        try:
            saw_nan = row.saw_nan or has_nan(row.observation)
            return complete_episode(row.total, self._steps + 1 - row.first_step, measure(row.info, self._metrics), saw_nan=saw_nan)
        except BaseException as error:
            return fail_episode(error, "environment-crash")

    def _end_overdue(self, done: dict[Row, Outcome]) -> None:
        for row in self._rows:
            seconds = row.seconds + self._shared_seconds - row.shared_before
            if seconds > self._limit and row not in done:
                detail = f"the episode took {seconds:.3g} s of its row's time, the limit is {self._limit:g} s"
                done[row] = Failed("timeout", detail)

    def _refill(self, done: dict[Row, Outcome]) -> None:
        over = [row for row in self._rows if row in done]
        for row in over:
            self._end(row, done[row])
        gone = {row for row in over if not self._begin_next(row)}
        if gone:
            self._seat(row for row in self._rows if row not in gone)

    def _end(self, row: Row, outcome: Outcome) -> None:
        self._outcomes[row.place] = outcome
        if self._prints.total:
            self._prints.pour_into(row.prints)
        self._logs[row.place] = row.prints.take()
        if not isinstance(outcome, Completed) and row.environment is not None:
            # The environment may be in any state, which must not affect the next episode.
            environment, row.environment = row.environment, None
            close_environment(environment)

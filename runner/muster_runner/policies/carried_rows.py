"""Plays many rows with policies whose code is part of the checkpoint: at once if they can, else one after the other."""

from collections.abc import Sequence
from typing import Any

from gymnasium import spaces
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate

from muster_runner.policies.fitting_action import fit_action, fit_actions
from muster_runner.policies.policy import Array
from muster_runner.policies.rows_policy import RowFaults, Rows
from muster_runner.random_state import seed_torch

ARRAY_SPACES = (spaces.Discrete, spaces.Box, spaces.MultiDiscrete, spaces.MultiBinary)
ONE_BY_ONE = (
    "the policy takes one observation at a time: rows are played one by one "
    "(a method act_rows(rows, observations) lets it play them together)"
)


def stack_values(values: Sequence[Any], space: spaces.Space[Any]) -> Any:
    """Stacks values as a vector environment does, in new arrays, which the receiver may keep."""
    empty: Any = create_empty_array(space, len(values))
    return concatenate(space, values, empty)


def split_batch(batch: Any, space: spaces.Space[Any], count: int) -> list[Any]:
    return list(iterate(batch_space(space, count), batch))


class CheckedRows:
    """A policy with `act_rows`. It keeps the state of a row under the row's number."""

    warnings: tuple[str, ...] = ()

    def __init__(self, inner: Any, observation_space: spaces.Space[Any], action_space: spaces.Space[Any]) -> None:
        self._act_rows = inner.act_rows
        self._reset_row = getattr(inner, "reset_row", None)
        self._observation_space = observation_space
        self._action_space = action_space

    def begin_block(self, seed: int, /) -> None:
        seed_torch(seed)

    def reset_row(self, row: int, seed: int, /) -> None:
        if self._reset_row is not None:
            self._reset_row(row, seed)

    def act_rows(self, rows: Rows, observations: Sequence[Any], /) -> Sequence[Any]:
        actions = self._act_rows(rows, stack_values(observations, self._observation_space))
        if isinstance(self._action_space, ARRAY_SPACES):
            array = self._fit_actions(actions, len(rows))
            return array.tolist() if isinstance(self._action_space, spaces.Discrete) else list(array)
        return _fit_each(split_batch(actions, self._action_space, len(rows)), self._action_space)

    def act_batch(self, rows: Rows, observations: Any, /) -> Any:
        actions = self._act_rows(rows, observations)
        if isinstance(self._action_space, ARRAY_SPACES):
            return self._fit_actions(actions, len(rows))
        return stack_values(_fit_each(split_batch(actions, self._action_space, len(rows)), self._action_space), self._action_space)

    def _fit_actions(self, actions: Any, count: int) -> Array:
        array: Array
        array, fits = fit_actions(actions, self._action_space, count)
        if not fits.all():
            places: list[int] = (~fits).nonzero()[0].tolist()
            wrong = {place: ValueError(f"the action {actions[place]} does not fit {self._action_space}") for place in places}
            raise RowFaults(array.tolist() if isinstance(self._action_space, spaces.Discrete) else list(array), wrong)
        return array


class RowByRow:
    """A policy for single observations: one instance for each row, or one for all rows if it keeps nothing from step to step."""

    warnings: tuple[str, ...] = (ONE_BY_ONE,)

    def __init__(self, instances: Sequence[Any], observation_space: spaces.Space[Any], action_space: spaces.Space[Any]) -> None:
        self._instances = instances
        self._observation_space = observation_space
        self._action_space = action_space

    def begin_block(self, seed: int, /) -> None:
        seed_torch(seed)

    def reset_row(self, row: int, seed: int, /) -> None:
        if hasattr(self._instances[0], "reset"):
            self._instances[row].reset(seed)

    def act_rows(self, rows: Rows, observations: Sequence[Any], /) -> Sequence[Any]:
        actions: list[Any] = [None] * len(rows)
        errors: dict[int, BaseException] = {}
        for place, (row, observation) in enumerate(zip(rows.tolist(), observations, strict=True)):
            try:
                actions[place] = fit_action(self._instances[row % len(self._instances)].act(observation), self._action_space)
            except BaseException as error:
                errors[place] = error
        if errors:
            raise RowFaults(actions, errors)
        return actions

    def act_batch(self, rows: Rows, observations: Any, /) -> Any:
        return stack_values(self.act_rows(rows, split_batch(observations, self._observation_space, len(rows))), self._action_space)


def _fit_each(actions: Sequence[Any], space: spaces.Space[Any]) -> list[Any]:
    fitted: list[Any] = list(actions)
    errors: dict[int, BaseException] = {}
    for place, action in enumerate(actions):
        try:
            fitted[place] = fit_action(action, space)
        except ValueError as error:
            errors[place] = error
    if errors:
        raise RowFaults(fitted, errors)
    return fitted

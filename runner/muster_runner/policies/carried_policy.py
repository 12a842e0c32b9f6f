"""Loads a policy whose code is part of the checkpoint."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymnasium import spaces

from muster_runner.carried_code import CodeError, find
from muster_runner.failure import describe_load
from muster_runner.frames import EntryPoint
from muster_runner.policies.carried_rows import CheckedRows, RowByRow
from muster_runner.policies.checkpoint import Fit
from muster_runner.policies.fitting_action import fit_action
from muster_runner.policies.policy import Policy
from muster_runner.policies.rows_policy import RowsPolicy
from muster_runner.random_state import seed_global_generators, seed_torch
from muster_runner.refusal import PolicyRefusal

# The factory draws the same numbers in every sandbox while it makes the policy.
CONSTRUCTION_SEED = 0


@dataclass(frozen=True)
class CarriedPolicy:
    point: EntryPoint
    directory: Path

    @property
    def module(self) -> str:
        """The module of its factory."""
        return self.point.entry.partition(":")[0]

    def fit(self, fit: Fit, /) -> Policy:
        """Makes a policy for single observations. @raises PolicyRefusal when the factory is missing, raises, or returns something that
        cannot act.
        """
        return CheckedPolicy(self._make(fit, "act(observation)"), fit.action_space)

    def fit_rows(self, fit: Fit, rows: int, /) -> RowsPolicy:
        """Makes a policy for many rows. @raises PolicyRefusal"""
        made = self._make(fit, "act(observation)", "act_rows(rows, observations)")
        if callable(getattr(made, "act_rows", None)):
            if hasattr(made, "reset") and not hasattr(made, "reset_row"):
                made_of = type(made).__name__
                raise PolicyRefusal(f"{self.point.entry} returns a {made_of} with act_rows and reset, but without reset_row(row, seed)")
            return CheckedRows(made, fit.observation_space, fit.action_space)
        # A policy without `reset` keeps nothing from step to step, so one instance serves all rows.
        others = [self._make(fit, "act(observation)") for _ in range(1, rows)] if hasattr(made, "reset") else []
        return RowByRow([made, *others], fit.observation_space, fit.action_space)

    def _make(self, fit: Fit, *methods: str) -> Any:
        """@param methods: the policy must have one of them."""
        seed_global_generators(CONSTRUCTION_SEED)
        try:
            made = find(self.point.entry, self.directory)(
                observation_space=fit.observation_space,
                action_space=fit.action_space,
                checkpoint_dir=self.directory,
                deterministic=fit.deterministic,
                **self.point.kwargs,
            )
        except CodeError as error:
            raise PolicyRefusal(f"the policy's factory: {error}") from error
        except BaseException as error:
            raise PolicyRefusal(f"the policy's factory {self.point.entry} failed: {describe_load(error)}") from error
        if not any(callable(getattr(made, method.partition("(")[0], None)) for method in methods):
            raise PolicyRefusal(f"{self.point.entry} returns a {type(made).__name__} without a method {' or '.join(methods)}")
        return made


class CheckedPolicy:
    """Passes only actions that fit the action space, so that a wrong action counts as the policy's fault."""

    def __init__(self, inner: Any, space: spaces.Space[Any]) -> None:
        self._act = inner.act
        self._reset = getattr(inner, "reset", None)
        self._space = space

    def reset(self, seed: int, /) -> None:
        seed_torch(seed)
        if self._reset is not None:
            self._reset(seed)

    def act(self, observation: Any, /) -> Any:
        return fit_action(self._act(observation), self._space)

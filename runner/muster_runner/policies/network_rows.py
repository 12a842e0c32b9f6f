"""Plays many rows side by side with a network: one forward pass for all of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from muster_runner.policies.policy import Array
from muster_runner.policies.recurrence import remembers_nothing
from muster_runner.policies.rows_head import RowsHead
from muster_runner.policies.rows_input import RowsInput
from muster_runner.policies.rows_policy import RowFaults, Rows
from muster_runner.random_state import seed_torch

# Row numbers and inputs [n, size] → outputs [n, out] and log standard deviations [n or 1, out], if the network has them.
RowsForward = Callable[[Rows, Array], tuple[Array, Array | None]]


@dataclass(frozen=True, eq=False)
class NetworkRows:
    encode: RowsInput
    forward: RowsForward
    head: RowsHead
    warnings: tuple[str, ...] = ()
    forget: Callable[[int], None] = remembers_nothing

    def begin_block(self, seed: int, /) -> None:
        seed_torch(seed)

    def reset_row(self, row: int, seed: int, /) -> None:
        self.forget(row)
        self.head.reset(row, seed)

    def act_rows(self, rows: Rows, observations: Sequence[Any], /) -> Sequence[Any]:
        try:
            outputs, log_std = self.forward(rows, self.encode.rows(observations))
        except Exception:
            # The rows are computed one by one to find the one whose observation failed.
            return self._act_each(rows, observations)
        actions = self.head(rows, outputs, log_std)
        # An environment expects a number from a policy of single observations. Arrays stay arrays.
        return actions.tolist() if actions.ndim == 1 and actions.dtype.kind == "i" else list(actions)

    def act_batch(self, rows: Rows, observations: Any, /) -> Any:
        outputs, log_std = self.forward(rows, self.encode.batch(observations, len(rows)))
        return self.head(rows, outputs, log_std)

    def _act_each(self, rows: Rows, observations: Sequence[Any]) -> Sequence[Any]:
        actions: list[Any] = [None] * len(rows)
        errors: dict[int, BaseException] = {}
        for place, observation in enumerate(observations):
            try:
                row = rows[place : place + 1]
                outputs, log_std = self.forward(row, self.encode.rows([observation]))
                (action,) = self.head(row, outputs, log_std)
                actions[place] = action.item() if isinstance(action, np.integer) else action
            except Exception as error:
                errors[place] = error
        if errors:
            raise RowFaults(actions, errors)
        return actions

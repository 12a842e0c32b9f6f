"""Gets the next actions for the rows of a block in lockstep, and attributes exceptions of policies to their rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from muster_runner.blocks.lockstep_row import Row
from muster_runner.episode import Failed, fail_episode
from muster_runner.policies.rows_policy import RowFaults, Rows, RowsPolicy


def ask(policy: RowsPolicy, rows: Sequence[Row], numbers: Rows) -> tuple[Sequence[Any], dict[Row, Failed]]:
    """Returns an action for each row, and the failures of rows for which the policy raised."""
    try:
        return policy.act_rows(numbers, [row.observation for row in rows]), {}
    except RowFaults as faults:
        failed = {rows[place]: fail_episode(error, "policy-crash") for place, error in faults.errors.items()}
        return faults.actions, failed
    except BaseException as error:
        failed = dict.fromkeys(rows, fail_episode(error, "policy-crash"))
        return [None] * len(rows), failed


def ask_each(rows: Sequence[Row]) -> tuple[Sequence[Any], dict[Row, Failed]]:
    """Does the same for rows of several policies, with one forward pass for each policy."""
    actions: list[Any] = [None] * len(rows)
    failed: dict[Row, Failed] = {}
    for policy in dict.fromkeys(row.policy for row in rows if row.policy is not None):
        places = [place for place, row in enumerate(rows) if row.policy is policy]
        asked = [rows[place] for place in places]
        answers, faults = ask(policy, asked, np.array([row.number for row in asked], np.int64))
        for place, action in zip(places, answers, strict=True):
            actions[place] = action
        failed |= faults
    return actions, failed

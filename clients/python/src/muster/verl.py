"""Groups as a batch of verl.

    for groups in client.rollouts.batches(stream.id, 4):
        batch = to_data_proto(groups, pad=tokenizer.pad_token_id)

The batch has Muster's advantages, as verl's own estimators leave them behind: with several segments in a trajectory these would count its
reward once for each.
"""

from collections.abc import Sequence

import numpy as np
import torch
from verl import DataProto

from muster.group_rows import Row, make_rows
from muster_client import RolloutGroup
from muster_client.arguments import suggests_keywords


@suggests_keywords
def to_data_proto(groups: Sequence[RolloutGroup], *, pad: int) -> DataProto:
    """Makes a row of each segment of each trajectory that has a part in its group: prompts padded on the left, responses on the right, with
    the id `pad`.

    Tensors, (rows, tokens): prompts, responses, input_ids, attention_mask, position_ids, response_mask, rollout_log_probs,
    token_level_scores (the reward on the last token), advantages. `uid` is the id of the group, `trajectory` that of the trajectory.
    """
    found = [
        (group.id, trajectory.id, row)
        for group in groups
        for trajectory in group.trajectories
        if trajectory.advantage is not None
        for row in make_rows(trajectory)
    ]
    rows = [row for _, _, row in found]
    prompts = _pad([row.prompt[::-1] for row in rows], pad).flip(1)
    responses = _pad([row.response for row in rows], pad)
    there = torch.cat([_pad([[1] * len(row.prompt) for row in rows], 0).flip(1), _pad([[1] * len(row.response) for row in rows], 0)], 1)
    mask = _pad([row.mask for row in rows], 0)
    tensors = {
        "prompts": prompts,
        "responses": responses,
        "input_ids": torch.cat([prompts, responses], 1),
        "attention_mask": there,
        "position_ids": (there.cumsum(1) - 1).clamp(min=0),
        "response_mask": mask,
        "rollout_log_probs": _pad([row.logprobs for row in rows], 0.0),
        "token_level_scores": _pad([_list_scores(row) for row in rows], 0.0),
        "advantages": torch.tensor([[row.advantage] for row in rows]) * mask,
    }
    names = {"uid": np.array([group for group, _, _ in found], object), "trajectory": np.array([id for _, id, _ in found], object)}
    return DataProto.from_dict(tensors, non_tensors=names)


def _list_scores(row: Row) -> list[float]:
    return [0.0] * (len(row.response) - 1) + [row.reward or 0.0]


def _pad(rows: Sequence[Sequence[float]], pad: float) -> torch.Tensor:
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[pad] * (longest - len(row))] for row in rows])

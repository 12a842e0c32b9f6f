"""On a batch of verl, verl's own estimator computes the same advantages as Muster."""

import numpy as np
import torch
from verl import DataProto
from verl.trainer.ppo.core_algos import compute_grpo_outcome_advantage

from muster.verl import to_data_proto
from tests.agentic.streamed import group


def test_groups_become_a_batch_with_the_advantages_that_verl_computes_from_it() -> None:
    groups = [group(0, [1, 0, 0.5, 1]), group(1, [0, 1, None, 0])]
    batch = to_data_proto(groups, pad=0)
    # Members at odd positions have two segments; the member without a verdict is not part of its group.
    assert len(batch) == 6 + 5
    assert batch.non_tensor_batch["uid"].tolist() == ["ro-1.0"] * 6 + ["ro-1.1"] * 5
    assert torch.equal(batch.batch["responses"] > 0, batch.batch["attention_mask"][:, -batch.batch["responses"].shape[1] :] > 0)
    assert batch.batch["position_ids"].max() == batch.batch["attention_mask"].sum(1).max() - 1

    last = [i for i, name in enumerate(batch.non_tensor_batch["trajectory"]) if name not in batch.non_tensor_batch["trajectory"][i + 1 :]]
    whole: DataProto = batch[np.array(last)]
    ours = whole.batch["advantages"]
    theirs, _ = compute_grpo_outcome_advantage(
        whole.batch["token_level_scores"], whole.batch["response_mask"], whole.non_tensor_batch["uid"]
    )
    assert torch.allclose(ours, theirs, atol=1e-5)
    assert not torch.allclose(ours, torch.zeros_like(ours))

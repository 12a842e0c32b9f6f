"""Trains with TRL on what agents do in Muster's sandboxes.

    source = MusterRollouts(client, client.rollouts.start("qwen.yaml", "code", group_size=8, concurrency=64, batch=4, max_staleness=0), 8)
    trainer = GRPOTrainer(model, reward_funcs=muster_reward, rollout_func=source, args=GRPOConfig(num_generations=8, …), train_dataset=…)

The stream decides which tasks are played: of TRL's dataset, only the number of rows counts. `group_size` is `num_generations`, and
`batch` the number of groups that TRL generates at a time. TRL trains one sequence for each sample, so of a trajectory with several
segments the last one.
"""

from typing import Any

from muster.group_rows import GroupSource
from muster_client import Client, RolloutStream


class MusterRollouts:
    """A `rollout_func`. Before it takes groups it tells the trainer's step as the version of the policy."""

    def __init__(self, client: Client, stream: RolloutStream, num_generations: int) -> None:
        self._source = GroupSource(client, stream, num_generations)

    def __call__(self, prompts: list[Any], trainer: Any) -> dict[str, list[Any]]:
        """Raises as `GroupSource.take`."""
        rows = [rows[-1] for rows in self._source.take(len(prompts), int(trainer.state.global_step))]
        return {
            "prompt_ids": [row.prompt for row in rows],
            "completion_ids": [row.response for row in rows],
            "logprobs": [row.logprobs for row in rows],
            "env_mask": [row.mask for row in rows],
            "muster_reward": [row.reward for row in rows],
        }


def muster_reward(completions: list[Any], muster_reward: list[float | None], **_: Any) -> list[float | None]:
    """A reward function of TRL: what Muster's verifiers have said. None for what has no verdict."""
    assert len(completions) == len(muster_reward)
    return muster_reward

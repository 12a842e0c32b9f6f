"""Trains with SkyRL on what agents do in Muster's sandboxes: a generator in place of SkyRL's own.

The stream decides which tasks are played: of the input, only its groups count. Set `generator.step_wise_trajectories=true` with
`step_wise=True`: then each segment of a trajectory is a step, the last one with the reward. Otherwise only the last segment is trained on.
"""

import asyncio
from typing import Any

from skyrl.train.generators.base import GeneratorInput, GeneratorInterface, GeneratorOutput

from muster.group_rows import GroupSource, Row
from muster_client import Client, RolloutStream
from muster_client.arguments import suggests_keywords


class MusterGenerator(GeneratorInterface):
    @suggests_keywords
    def __init__(self, client: Client, stream: RolloutStream, n_samples_per_prompt: int, *, step_wise: bool = False) -> None:
        self._source = GroupSource(client, stream, n_samples_per_prompt)
        self._step_wise = step_wise

    async def generate(self, input_batch: GeneratorInput) -> GeneratorOutput:
        """Generates a batch. Raises as `GroupSource.take` does, and InvalidArgument when the input is no multiple of the group size."""
        about = input_batch["batch_metadata"]
        version = about.global_step if about is not None else 0
        members = await asyncio.to_thread(self._source.take, len(input_batch["prompts"]), version)
        named = zip(input_batch["trajectory_ids"] or [None] * len(members), members, strict=True)
        rows = [(name, row) for name, member in named for row in (member if self._step_wise else member[-1:])]
        output: dict[str, Any] = {
            "prompt_token_ids": [row.prompt for _, row in rows],
            "response_ids": [row.response for _, row in rows],
            "rewards": [_rewards(row) for _, row in rows],
            "loss_masks": [row.mask for _, row in rows],
            "stop_reasons": ["stop"] * len(rows),
            "rollout_logprobs": [row.logprobs for _, row in rows],
            "trajectory_ids": [name for name, _ in rows] if input_batch["trajectory_ids"] else None,
            "is_last_step": [row.is_last for _, row in rows] if self._step_wise else None,
        }
        unknown = {name: None for name in GeneratorOutput.__annotations__ if name not in output}
        return GeneratorOutput(**output, **unknown)


def _rewards(row: Row) -> list[float]:
    """Returns the reward on the last token; 0 for a segment before the last, and when there is no verdict."""
    return [0.0] * (len(row.response) - 1) + [(row.reward or 0.0) if row.is_last else 0.0]

"""What the generator gives passes SkyRL's own check of generators."""

import asyncio
from typing import Any

import pytest
from skyrl.train.generators.base import BatchMetadata, GeneratorInput, TrajectoryID
from skyrl.train.utils.trainer_utils import validate_generator_output

from muster.skyrl import MusterGenerator
from tests.agentic.streamed import STREAM, Streamed, group


def asked(groups: int, size: int, step: int) -> GeneratorInput:
    names = [TrajectoryID(f"prompt-{i}", rep) for i in range(groups) for rep in range(size)]
    prompts: list[Any] = [[{"role": "user", "content": name.instance_id}] for name in names]
    return GeneratorInput(
        prompts=prompts,
        env_classes=["muster"] * len(names),
        env_extras=None,
        sampling_params=None,
        trajectory_ids=names,
        batch_metadata=BatchMetadata(global_step=step, training_phase="train"),
    )


@pytest.mark.parametrize("step_wise", [False, True])
def test_skyrl_gets_valid_outputs_in_the_order_of_its_inputs(step_wise: bool) -> None:
    # Half of the second group has no verdict.
    streamed = Streamed(group(0, [1, 0, 0.5, 0]), group(1, [0, 1, None, None]))
    generator = MusterGenerator(streamed.client, STREAM, 4, step_wise=step_wise)
    given = asked(2, 4, step=4)
    output = asyncio.run(generator.generate(given))
    validate_generator_output(8, output, step_wise=step_wise)
    assert streamed.reported == [("org/policy", 4)]
    totals: dict[str, float] = {}
    for name, rewards in zip(output["trajectory_ids"], output["rewards"], strict=True):
        totals[name.to_string()] = totals.get(name.to_string(), 0) + sum(rewards)
    assert list(totals.values()) == [1, 0, 0.5, 0, 0, 1, 0, 0]
    assert list(totals) == [name.to_string() for name in given["trajectory_ids"]]
    learnt = {name.to_string(): sum(mask) for name, mask in zip(output["trajectory_ids"], output["loss_masks"], strict=True)}
    assert [tokens > 0 for tokens in learnt.values()] == [True] * 6 + [False] * 2
    assert len(output["response_ids"]) == (12 if step_wise else 8)

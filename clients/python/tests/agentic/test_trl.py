"""TRL's own GRPOTrainer learns from groups of Muster."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer

from muster.trl import MusterEnvironment, MusterRollouts, environment_reward, muster_reward
from muster_client import Client, InvalidArgument
from tests.agentic.streamed import STREAM, Streamed, group
from tests.agentic.tiny_chat import END, SAYINGS, TASK, tiny_tokenizer
from tests.real_server import RealServer

WORDS = 32
# Trainings of a few seconds on a processor, which leave nothing behind.
SMALL: dict[str, Any] = {
    "per_device_train_batch_size": 8,
    "learning_rate": 1e-2,
    "logging_steps": 1,
    "beta": 0.0,
    "report_to": "none",
    "save_strategy": "no",
    "use_cpu": True,
    "bf16": False,
}


def trainer(source: MusterRollouts, directory: Path) -> GRPOTrainer:
    vocabulary = {"<pad>": 0, "<end>": 1, "<unk>": 2, **{f"w{i}": i for i in range(3, WORDS)}}
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(WordLevel(vocabulary, unk_token="<unk>")), pad_token="<pad>", eos_token="<end>", unk_token="<unk>"
    )
    torch.manual_seed(1)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=WORDS, n_layer=1, n_head=2, n_embd=16, n_positions=64, eos_token_id=1, bos_token_id=1))
    options = GRPOConfig(
        output_dir=str(directory),
        num_generations=4,
        max_steps=2,
        **SMALL,
    )
    rows = Dataset.from_list([{"prompt": "w3"}] * 16)
    return GRPOTrainer(model, muster_reward, args=options, train_dataset=rows, processing_class=tokenizer, rollout_func=source)


@pytest.mark.filterwarnings("ignore")
def test_two_training_steps_use_two_batches_and_learn_from_their_rewards(tmp_path: Path) -> None:
    streamed = Streamed(group(0, [1, 0, 0, 1]), group(1, [1, 1, 1, 0]), group(2, [0, 0, 0.5, None]), group(3, [1, 0, 0, 0]))
    training = trainer(MusterRollouts(streamed.client, STREAM, 4), tmp_path)
    before = [parameter.detach().clone() for parameter in training.model.parameters()]
    training.train()
    logged = [entry for entry in training.state.log_history if "reward" in entry]
    # Of the second batch one member has no verdict: it has no part in the mean.
    assert [entry["reward"] for entry in logged] == pytest.approx([5 / 8, 1.5 / 7], abs=1e-4)
    assert streamed.taken == [2, 2]
    assert streamed.reported == [("org/policy", 1)]
    assert any(not torch.equal(one, other) for one, other in zip(before, training.model.parameters(), strict=True))


def test_an_incomplete_group_is_refused_and_a_missing_member_teaches_nothing() -> None:
    class Trainer:
        class state:
            global_step = 0

    streamed = Streamed(group(0, [1, 0, None]), group(1, [1, 0, 0]))
    source = MusterRollouts(streamed.client, STREAM, 4)
    with pytest.raises(InvalidArgument, match="6 samples are no whole groups of 4"):
        source(["a"] * 6, Trainer)
    rows = source(["a"] * 4, Trainer)
    assert rows["muster_reward"] == [1, 0, None, None]
    assert [sum(mask) for mask in rows["env_mask"]] == [4, 5, 0, 0]
    assert [len(ids) for ids in rows["prompt_ids"]] == [3, 4, 3, 3]
    with pytest.raises(InvalidArgument, match="2 groups were requested, and 1 before"):
        source(["a"] * 8, Trainer)
    small = MusterRollouts(Streamed(group(0, [1, 0, 0])).client, STREAM, 2)
    with pytest.raises(InvalidArgument, match="begin the stream with group_size=2"):
        small(["a"] * 2, Trainer)


@pytest.mark.filterwarnings("ignore")
def test_a_model_sampled_by_trl_acts_in_the_arena_and_learns_from_its_rewards(tmp_path: Path) -> None:
    tokenizer = tiny_tokenizer()
    model = talkative_model(tokenizer)
    options = GRPOConfig(
        output_dir=str(tmp_path / "out"),
        num_generations=8,
        max_steps=1,
        max_completion_length=512,
        max_tool_calling_iterations=4,
        **SMALL,
        seed=3,
    )
    rows = Dataset.from_list([{"prompt": [{"role": "user", "content": ""}], "task": TASK}] * 16)
    with RealServer(tmp_path) as server, Client(server.url) as client:
        factory: Callable[[], Any] = lambda: MusterEnvironment(client)  # noqa: E731
        training = GRPOTrainer(
            model, environment_reward, args=options, train_dataset=rows, processing_class=tokenizer, environment_factory=factory
        )
        training.train()
        episodes = list(client.arena.list(agent="trl"))
    assert [(each.state, each.outcome) for each in episodes] == [("closed", "rewarded")] * 8
    rewards = [each.reward for each in episodes if each.reward is not None]
    # Some have said the one word that solves the task, others have not.
    assert (min(rewards), max(rewards)) == (0, 1)
    (logged,) = [entry for entry in training.state.log_history if "reward" in entry]
    assert logged["reward"] == pytest.approx(sum(rewards) / 8, abs=1e-4)
    assert logged["grad_norm"] > 0


def talkative_model(tokenizer: PreTrainedTokenizerFast) -> GPT2LMHeadModel:
    """Says one of its words at random wherever it is to answer, and ends its turn."""
    torch.manual_seed(3)
    words = len(tokenizer)
    settings = GPT2Config(vocab_size=words, n_layer=1, n_head=2, n_embd=16, n_positions=4096, bos_token_id=None, eos_token_id=None)
    model = GPT2LMHeadModel(settings)
    asked, end = (tokenizer.encode(text, add_special_tokens=False) for text in ("<|im_start|>assistant\n", END))
    sayings = torch.tensor(tokenizer.convert_tokens_to_ids(SAYINGS))
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(200):
        said = sayings[torch.randint(len(sayings), (32, 1))]
        fixed = [torch.tensor(ids).expand(32, -1) for ids in (asked, end)]
        rows = torch.cat([torch.randint(words, (32, 24)), fixed[0], said, fixed[1]], 1)
        labels = torch.cat([torch.full((32, 24 + len(asked)), -100), said, fixed[1]], 1)
        at = torch.randint(4000, (32, 1)) + torch.arange(rows.shape[1])
        optimiser.zero_grad()
        model(rows, labels=labels, position_ids=at).loss.backward()
        optimiser.step()
    return model

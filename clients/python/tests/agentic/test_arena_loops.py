"""Loops of trainers that sample by themselves, on tasks of a real server: verl's agent loop and slime's generate function."""

import asyncio
import importlib.util
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import hydra
import pytest
from omegaconf import OmegaConf
from verl.experimental.agent_loop.agent_loop import AgentLoopOutput, DictConfigWrap, _agent_loop_registry
from verl.workers.rollout.replica import TokenOutput

import muster.verl_loop  # noqa: F401
from muster.task_play import NoVerdict
from muster.trl import MusterEnvironment, environment_reward
from muster_client import Client, InvalidArgument
from tests.agentic.tiny_chat import BROKEN, END, LOOK, SOLVE, SUBMIT, TASK, saved, tiny_tokenizer
from tests.real_server import SPOILT, RealServer, spoilt_task

SCRIPT = [LOOK, SOLVE, SUBMIT]


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    directory = tmp_path_factory.mktemp("muster")
    with RealServer(directory, spoilt_task(directory)) as server:
        yield server.url


@pytest.fixture
def server(started: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("MUSTER_URL", started)
    return started


class Sampler:
    """In place of a model server: what the model says next, and the prompts that it was given."""

    def __init__(self, sayings: list[str], continues: bool = True) -> None:
        """@param continues: whether all of them belong to one episode."""
        self._continues = continues
        self.tokenizer = tiny_tokenizer()
        self.said: list[list[int]] = [self.tokenizer.encode(text + END, add_special_tokens=False) for text in sayings]
        self.prompts: list[list[int]] = []

    def sample(self, prompt: list[int]) -> list[int]:
        # Nothing that was sampled or heard before is another token now.
        if self.prompts and self._continues:
            before = [*self.prompts[-1], *self.said[len(self.prompts) - 1]]
            assert prompt[: len(before)] == before
        self.prompts.append(prompt)
        return self.said[len(self.prompts) - 1]

    async def generate(self, request_id: str, *, prompt_ids: list[int], sampling_params: dict[str, Any]) -> TokenOutput:
        assert request_id and sampling_params == {"temperature": 1.0}
        ids = self.sample(list(prompt_ids))
        return TokenOutput(token_ids=ids, log_probs=[-0.5] * len(ids), stop_reason="completed")


def run_verl(sampler: Sampler, row: dict[str, Any], most_turns: int | None = None, length: int = 2048) -> AgentLoopOutput:
    multi_turn = {"format": "hermes", "max_assistant_turns": most_turns}
    rollout = {"prompt_length": 8192, "response_length": length, "multi_turn": multi_turn}
    config = OmegaConf.create({"actor_rollout_ref": {"rollout": rollout}, "data": {}})

    async def run() -> AgentLoopOutput:
        # As a worker of verl makes and runs it.
        loop = hydra.utils.instantiate(
            config=_agent_loop_registry["muster"],
            trainer_config=DictConfigWrap(config),
            server_manager=sampler,
            tokenizer=sampler.tokenizer,
            processor=None,
            dataset_cls=None,
            data_config=DictConfigWrap(config.data),
            hf_model_type="qwen3",
        )
        return await loop.run({"temperature": 1.0}, **row)

    return asyncio.run(run())


def test_an_agent_loop_of_verl_plays_a_task_with_the_tokens_that_were_sampled(server: str) -> None:
    sampler = Sampler(SCRIPT)
    output = run_verl(sampler, {"raw_prompt": [{"role": "user", "content": "Be brief."}], "extra_info": {"task": TASK}})
    assert output.reward_score == 1
    assert output.prompt_ids == sampler.prompts[0]
    sampled = [token for token, mask in zip(output.response_ids, output.response_mask, strict=True) if mask]
    assert sampled == [token for said in sampler.said for token in said]
    assert output.response_logprobs is not None
    assert [logprob for logprob, mask in zip(output.response_logprobs, output.response_mask, strict=True) if mask] == [-0.5] * len(sampled)
    assert [*output.prompt_ids, *output.response_ids] == [*sampler.prompts[-1], *sampler.said[-1]]
    assert output.as_dict()["rm_scores"].sum() == 1
    with Client(server) as client:
        assert [(each.agent, each.steps, each.reward) for each in client.arena.list(agent="verl")] == [("verl", 3, 1.0)]


@pytest.mark.usefixtures("server")
def test_a_loop_of_verl_that_reaches_its_limits_is_graded_as_it_is() -> None:
    row = {"raw_prompt": [{"role": "user", "content": ""}], "task": TASK}
    cut = run_verl(Sampler(SCRIPT), row, most_turns=2)
    assert cut.reward_score is not None and cut.reward_score < 1
    assert sum(cut.response_mask) == 4
    short = run_verl(Sampler([SOLVE, SUBMIT]), row, length=2)
    assert (len(short.response_ids), short.response_mask) == (2, [1, 1])
    with pytest.raises(InvalidArgument, match="the row has no task"):
        run_verl(Sampler(SCRIPT), {"raw_prompt": []})


def test_verl_gets_no_sample_of_an_episode_without_a_verdict_after_three_plays(server: str) -> None:
    with pytest.raises(NoVerdict, match="the disk is full"):
        run_verl(Sampler([SUBMIT] * 3, continues=False), {"raw_prompt": [], "task": SPOILT})
    with Client(server) as client:
        spoilt = [each for each in client.arena.list(agent="verl") if each.task.endswith(SPOILT)]
        assert [(each.outcome, each.reward) for each in spoilt] == [("void", None)] * 3


def test_an_episode_without_a_verdict_has_no_reward_in_trl(server: str) -> None:
    with Client(server) as client:
        environments = [MusterEnvironment(client) for _ in range(2)]
        for environment, task in zip(environments, [SPOILT, TASK], strict=True):
            assert environment.reset(task)
        spoilt, unsolved = environment_reward(environments)
        # What was graded, and is wrong, has a reward.
        assert spoilt is None and unsolved is not None


@pytest.mark.skipif(importlib.util.find_spec("slime") is None, reason="slime is on no registry; its source is to be on the path")
@pytest.mark.parametrize("ending", ["rewarded", "aborted", "spoilt"])
def test_slime_samples_a_group_and_gets_its_rewards(server: str, tmp_path: Path, ending: str) -> None:
    from slime.rollout.sglang_rollout import generate_and_rm
    from slime.utils.http_utils import init_http_client
    from slime.utils.types import Sample

    # A call that is no JSON is for the model to read, and no step.
    sampler = Sampler([LOOK, BROKEN, SOLVE, SUBMIT])
    with serving(sampler, aborts_at=1 if ending == "aborted" else None) as port:
        args = slime_arguments(saved(tmp_path), port)
        sample = Sample(index=0, prompt="Be brief.", metadata={"task": SPOILT if ending == "spoilt" else TASK})

        async def run() -> Sample:
            init_http_client(args)
            return await generate_and_rm(args, sample, {"max_new_tokens": 2048})

        done = asyncio.run(run())
    with Client(server) as client:
        (episode,) = list(client.arena.list(agent="slime"))[:1]
    if ending != "rewarded":
        assert (done.status, done.reward, episode.outcome) == (Sample.Status.ABORTED, None, "void")
        return
    assert (done.status, done.reward, episode.steps) == (Sample.Status.COMPLETED, 1, 3)
    assert done.tokens == [*sampler.prompts[-1], *sampler.said[-1]]
    given = len(sampler.prompts[0])
    sampled = [token for token, mask in zip(done.tokens[given:], done.loss_mask, strict=True) if mask]
    assert sampled == [token for said in sampler.said for token in said]
    assert len(done.rollout_log_probs) == done.response_length == len(done.tokens) - given
    assert done.weight_versions == ["7"] * 4


def slime_arguments(tokenizer: Path, port: int) -> SimpleNamespace:
    """Those that slime's own code reads on the way."""
    return SimpleNamespace(
        hf_checkpoint=str(tokenizer),
        custom_generate_function_path="muster.slime.generate",
        sglang_router_ip="127.0.0.1",
        sglang_router_port=port,
        sglang_server_concurrency=2,
        rollout_num_engines=1,
        use_distributed_post=False,
        sglang_dp_size=None,
        sglang_enable_deterministic_inference=False,
        sglang_speculative_algorithm=False,
        partial_rollout=False,
        mask_offpolicy_in_partial_rollout=False,
        group_rm=False,
        rollout_temperature=1.0,
        rollout_top_p=1.0,
        rollout_top_k=-1,
        rollout_max_response_len=2048,
        rollout_stop=None,
        rollout_stop_token_ids=None,
        rollout_skip_special_tokens=False,
        custom_rollout_sample_hook_path=None,
    )


class serving:
    """An HTTP server that answers as SGLang's /generate."""

    def __init__(self, sampler: Sampler, aborts_at: int | None) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
                assert asked["return_logprob"] is True
                turn = len(sampler.prompts)
                ids = sampler.sample(asked["input_ids"])
                meta = {
                    "output_token_logprobs": [[-0.5, token, None] for token in ids],
                    "finish_reason": {"type": "abort" if turn == aborts_at else "stop"},
                    "weight_version": "7",
                    "prompt_tokens": len(asked["input_ids"]),
                    "completion_tokens": len(ids),
                }
                body = json.dumps({"text": sampler.tokenizer.decode(ids), "meta_info": meta}).encode()
                self.send_response(200)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever)

    def __enter__(self) -> int:
        self._thread.start()
        return self._server.server_address[1]

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

"""A generate function of slime: slime's own SGLang samples, and the model's tools work in Muster's sandboxes.

    python train.py … --custom-generate-function-path muster.slime.generate --rollout-max-response-len 8192

The metadata of each sample has the name of a `task` of the server's arena; its prompt, without a chat template applied, stands before the
instruction. MUSTER_URL and MUSTER_TOKEN name the server. The reward is Muster's verdict: no reward model is asked.
"""

from typing import Any

from slime.rollout.sglang_rollout import GenerateState
from slime.utils.http_utils import post

from muster.chat_tokens import answer_ids, begin_ids, read_calls
from muster.task_play import NoVerdict, TaskPlay, append_instruction, to_chat_tools
from muster_client import AsyncClient, InvalidArgument


async def generate(args: Any, sample: Any, sampling_params: dict[str, Any]) -> Any:
    """Fills a sample of slime with tokens, mask, log-probabilities and reward. It is `aborted`, so that slime plays it again, when SGLang
    has aborted it or the infrastructure has spoilt its verdict. Raises InvalidArgument, and the errors of the client.
    """
    task = sample.metadata.get("task")
    if not isinstance(task, str):
        raise InvalidArgument('the sample has no task; expected the name of one of the arena in its metadata, as "task"')
    _begin_anew(sample)
    async with AsyncClient() as client:
        play, started = await TaskPlay.begin(client, task, agent="slime")
        tools = to_chat_tools(started.tools)
        tokenizer = GenerateState(args).tokenizer
        sample.tokens = begin_ids(tokenizer, append_instruction(sample.prompt, started.observation), tools)
        while (said := await _sample(args, sample, sampling_params)) is not None:
            answers = [await play.call(name, arguments) for name, arguments in read_calls(tokenizer.decode(said))]
            if not answers or play.is_over:
                break
            sample.append_response_tokens(args, tokens=answer_ids(tokenizer, answers, tools), trainable=False)
        if sample.status == type(sample).Status.ABORTED:
            await client.arena.cancel(play.episode)
            return sample
        try:
            sample.reward = await play.grade()
        except NoVerdict:
            sample.status = type(sample).Status.ABORTED
    return sample


async def _sample(args: Any, sample: Any, sampling_params: dict[str, Any]) -> list[int] | None:
    """Samples one turn. Returns None when that is the model's last turn: it was cut off, or no more tokens may be sampled."""
    left = sampling_params["max_new_tokens"] - sample.response_length
    if left <= 0:
        sample.status = type(sample).Status.TRUNCATED
        return None
    url = f"http://{args.sglang_router_ip}:{args.sglang_router_port}/generate"
    asked = {"input_ids": sample.tokens, "sampling_params": {**sampling_params, "max_new_tokens": left}, "return_logprob": True}
    answered = await post(url, asked)
    meta = answered["meta_info"]
    said = meta.get("output_token_logprobs", [])
    ids = [token for _, token, *_ in said]
    sample.append_response_tokens(
        args, tokens=ids, log_probs=[logprob for logprob, *_ in said], trainable=True, meta_info=meta, text=answered["text"]
    )
    return ids if sample.status == type(sample).Status.COMPLETED else None


def _begin_anew(sample: Any) -> None:
    """Clears what an aborted sample has from its first attempt, whose workspace is gone."""
    sample.tokens, sample.response, sample.response_length = [], "", 0
    sample.loss_mask = sample.rollout_log_probs = sample.reward = None
    sample.rollout_top_p_token_ids = sample.rollout_top_p_token_offsets = sample.rollout_routed_experts = None
    sample.weight_versions = []

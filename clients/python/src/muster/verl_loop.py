"""An agent loop of verl: verl's own model server samples, and the model's tools work in Muster's sandboxes.

    # agent_loops.yaml, which actor_rollout_ref.rollout.agent.agent_loop_config_path names
    - name: muster
      _target_: muster.verl_loop.MusterAgentLoop

Rows have `agent_name: muster` and the name of a `task` of the server's arena, by itself or in `extra_info`. MUSTER_URL and MUSTER_TOKEN
name the server. verl's own merging keeps the sampled tokens as they are: no observation or answer is tokenised twice.
"""

import json
from typing import Any
from uuid import uuid4

from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopMetrics, AgentLoopOutput, register
from verl.experimental.agent_loop.tool_parser import ToolParser
from verl.utils.profiler import simple_timer

from muster.task_play import NoVerdict, TaskPlay, append_instruction, to_chat_tools
from muster_client import AsyncClient, InvalidArgument

_ATTEMPTS = 3
"""The number of attempts at an episode that the infrastructure spoils: verl has no sample without a reward."""


@register("muster")
class MusterAgentLoop(AgentLoopBase):
    async def run(self, sampling_params: dict[str, Any], **row: Any) -> AgentLoopOutput:
        """Raises InvalidArgument for a row without a task, NoVerdict after three spoilt episodes, and as the client does."""
        task = row.get("task") or (row.get("extra_info") or {}).get("task")
        if not isinstance(task, str):
            raise InvalidArgument('the row has no task; expected the name of one of the arena in "task", or in "extra_info"')
        async with AsyncClient() as client:
            for attempt in range(_ATTEMPTS):
                try:
                    return await self._play(client, task, list(row["raw_prompt"]), sampling_params)
                except NoVerdict:
                    if attempt == _ATTEMPTS - 1:
                        raise
        raise AssertionError("the last attempt returns or raises")

    async def _play(self, client: AsyncClient, task: str, prompt: list[dict[str, Any]], sampling: dict[str, Any]) -> AgentLoopOutput:
        play, started = await TaskPlay.begin(client, task, agent="verl")
        conversation = _Conversation(self, append_instruction(prompt, started.observation), to_chat_tools(started.tools), sampling)
        await conversation.begin()
        while not play.is_over:
            calls = await conversation.sample()
            if not calls:
                break
            with simple_timer("tool_calls", conversation.metrics):
                answers = [await play.call(name, arguments) for name, arguments in calls]
            if not play.is_over:
                await conversation.receive(answers)
        return conversation.output(await play.grade())


class _Conversation:
    """The tokens of one trajectory, and their messages."""

    def __init__(self, loop: AgentLoopBase, messages: list[dict[str, Any]], tools: list[dict[str, Any]], sampling: dict[str, Any]) -> None:
        self.metrics: dict[str, Any] = {}
        self._loop = loop
        self._messages = messages
        self._tools = tools
        self._settings = loop.rollout_config
        self._parser = ToolParser.get_tool_parser(self._settings.multi_turn.format, loop.tokenizer)
        stops = [*(sampling.get("stop_token_ids") or []), *self._parser.stop_token_ids]
        self._sampling = {**sampling, "stop_token_ids": sorted({*stops})} if stops else sampling
        self._request = uuid4().hex
        self._ids: list[int] = []
        self._mask: list[int] = []
        self._logprobs: list[float] | None = None
        self._turns = 0

    async def begin(self) -> None:
        self._ids = await self._loop.ct_build_initial_tokens(self._messages, tools=self._tools)

    async def sample(self) -> list[tuple[str, str]]:
        """Samples a turn. Returns the calls of tools, with their arguments as the model wrote them; none when the model is done, or at a
        limit.
        """
        with simple_timer("generate_sequences", self.metrics):
            said = await self._loop.server_manager.generate(request_id=self._request, prompt_ids=self._ids, sampling_params=self._sampling)
        before = self._logprobs if self._mask else []
        merged, self._mask, self._logprobs = await self._loop.ct_merge_assistant_token(
            self._ids, said.token_ids, self._mask, before if said.log_probs else None, assistant_logprobs=said.log_probs or None
        )
        self._ids = merged.token_ids
        self._turns += 1
        content, calls = await self._parser.extract_tool_calls(said.token_ids)
        written = [_call(call.name, call.arguments) for call in calls]
        self._messages.append({"role": "assistant", "content": content or "", "tool_calls": written})
        most = self._settings.multi_turn.max_assistant_turns
        if len(self._mask) >= self._settings.response_length or (most and self._turns >= most):
            return []
        return [(call.name, call.arguments) for call in calls]

    async def receive(self, answers: list[str]) -> None:
        heard = [*self._messages, *({"role": "tool", "content": answer} for answer in answers)]
        merged, self._mask, self._logprobs = await self._loop.ct_merge_context_msg(
            self._messages, heard, self._ids, self._mask, self._logprobs, tools=self._tools
        )
        self._ids, self._messages = merged.token_ids, heard

    def output(self, reward: float) -> AgentLoopOutput:
        given, most = len(self._ids) - len(self._mask), self._settings.response_length
        return AgentLoopOutput(
            prompt_ids=self._ids[:given],
            response_ids=self._ids[given:][:most],
            response_mask=self._mask[:most],
            response_logprobs=self._logprobs and self._logprobs[:most],
            reward_score=reward,
            num_turns=2 * self._turns,
            metrics=AgentLoopMetrics(**self.metrics),
            # These are the metrics of verl's own tool loop, so that samples of both fit in one batch.
            extra_fields={"turn_scores": [], "tool_rewards": []},
        )


def _call(name: str, arguments: str) -> dict[str, Any]:
    """Builds a call for a template. Templates render arguments as JSON, so they need the parsed value, if it can be parsed."""
    try:
        meant = json.loads(arguments)
    except ValueError:
        meant = arguments
    return {"type": "function", "function": {"name": name, "arguments": meant}}

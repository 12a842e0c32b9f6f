import { getCompletion, getPrompt } from '../record/sampled-tokens.ts';
import type { Trajectory, Turn } from '../record/trajectory.ts';
import { describeTools, readArguments } from './chat-messages.ts';

/** Readers of 1.7 refuse 1.8. */
const VERSION = 'ATIF-v1.7';

/** Formats a trajectory in the Agent Trajectory Interchange Format of Harbor. */
export function formatAtif(trajectory: Trajectory): object {
  const { prompt, turns, tools, usage, model } = trajectory;
  const given = prompt.map(({ role, content }, i) => ({ step_id: i + 1, source: role, message: content }));
  const taken = turns.map((turn, i) => describeStep(turn, prompt.length + i + 1, trajectory));
  const { task, taskDigest, agent, group, rep, seed, taskSeed, reward, components, status, stopReason } = trajectory;
  return {
    schema_version: VERSION,
    session_id: trajectory.trajectory,
    agent: { name: 'muster-model', version: '1', ...(model === null ? {} : { model_name: model }), tool_definitions: describeTools(tools) },
    steps: [...given, ...taken],
    final_metrics: {
      total_prompt_tokens: usage.promptTokens,
      total_completion_tokens: usage.completionTokens,
      total_cached_tokens: usage.cachedTokens,
      total_steps: given.length + taken.length,
    },
    extra: { task, taskDigest, agent, group, rep, seed, taskSeed, reward, components, status, stopReason },
  };
}

function describeStep(turn: Turn, number: number, { segments, model }: Trajectory): object {
  const { message, toolCalls, observations, tokens, usage, startedAt } = turn;
  const calls = toolCalls.map((call) => ({ tool_call_id: call.id, function_name: call.name, arguments: readArguments(call) }));
  const results = observations.map(({ toolCall, text }) =>
    toolCall === null ? { content: text } : { source_call_id: toolCall, content: text },
  );
  const sampled = tokens && getCompletion(segments, tokens);
  return {
    step_id: number,
    source: 'agent',
    timestamp: startedAt,
    message: message.content,
    ...(model === null ? {} : { model_name: model }),
    ...(message.reasoning === null ? {} : { reasoning_content: message.reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(results.length === 0 ? {} : { observation: { results } }),
    metrics: {
      prompt_tokens: usage.promptTokens,
      completion_tokens: usage.completionTokens,
      cached_tokens: usage.cachedTokens,
      ...(tokens && sampled
        ? {
            prompt_token_ids: getPrompt(segments, tokens),
            completion_token_ids: sampled.ids,
            ...(sampled.logprobs === null ? {} : { logprobs: sampled.logprobs }),
          }
        : {}),
    },
  };
}

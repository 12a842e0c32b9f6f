import { toEpochSeconds } from '../../../kernel/clock.ts';
import { getCompletion } from '../record/sampled-tokens.ts';
import type { Trajectory, Turn } from '../record/trajectory.ts';

/** A message, and the tokens that it adds to those of its parents. */
interface TraceNode {
  readonly parent: number | null;
  readonly message: object;
  readonly sampled: boolean;
  readonly timestamp: number;
  readonly token_ids: readonly number[];
  readonly mask: readonly boolean[];
  /** One value for each true value of the mask. */
  readonly logprobs: readonly number[];
}

const FINISH_REASONS: ReadonlySet<string> = new Set(['stop', 'length', 'tool_calls']);

/** Formats an episode of verifiers v1 with one trace. Each path from a root to a leaf is a segment. */
export function formatVerifiers(trajectory: Trajectory): object {
  const { trajectory: id, group, rep, task: name, prompt, turns, tools, model, reward, components, stopReason, timings } = trajectory;
  const { nodes, sampled } = listNodes(trajectory);
  const task = { type: 'MusterTask', data: { idx: rep, name, prompt } };
  const ok = trajectory.status !== 'failed';
  const [start, end] = [toEpochSeconds(timings.startedAt), toEpochSeconds(timings.endedAt)];
  const trace = {
    version: 1,
    id,
    task,
    agent: { config: { model } },
    tools: tools.map(({ name: tool, description, parameters }) => ({ type: 'function', name: tool, description, parameters })),
    nodes,
    calls: turns.map((turn, i) => describeCall(turn, sampled[i] ?? null, model)),
    rewards: { reward: reward === null ? null : { score: reward, weight: 1 } },
    metrics: components,
    is_completed: true,
    ok,
    stop_condition: stopReason,
    errors: [],
    timing: { start, agent: { start, end, model: { duration: timings.modelSeconds }, harness: { duration: timings.actionSeconds } } },
  };
  return { id, env: { id: 'muster' }, task, group: group === null ? null : { id: group }, ok, errors: [], traces: [trace] };
}

/**
 * Each segment has a root, followed by the messages that are new in the input of a turn, what was sampled, and so on. `sampled` maps each turn to its
 * node.
 */
function listNodes(trajectory: Trajectory): { readonly nodes: readonly TraceNode[]; readonly sampled: readonly (number | undefined)[] } {
  const { turns, segments } = trajectory;
  const nodes: TraceNode[] = [];
  const sampled: (number | undefined)[] = [];
  for (const [position, { ids }] of segments.entries()) {
    let parent: number | null = null;
    let at = 0;
    const add = (node: Omit<TraceNode, 'parent'>): void => {
      nodes.push({ parent, ...node });
      parent = nodes.length - 1;
    };
    for (const [i, turn] of turns.entries()) {
      const { tokens } = turn;
      if (tokens?.segment !== position) continue;
      const given = ids.slice(at, tokens.prompt);
      const before = listMessagesBefore(trajectory, i, at === 0);
      // The server does not say which token belongs to which message: all are with the last one, or before the answer where there is none.
      for (const [of, message] of before.entries())
        add({ message, ...createInput(of === before.length - 1 ? given : []), timestamp: toEpochSeconds(turn.startedAt) });
      const scaffold = createInput(before.length === 0 ? given : []);
      const { ids: said, logprobs } = getCompletion(segments, tokens);
      add({
        message: describeAnswer(turn),
        sampled: true,
        timestamp: toEpochSeconds(turn.endedAt),
        token_ids: [...scaffold.token_ids, ...said],
        mask: [...scaffold.mask, ...said.map(() => true)],
        logprobs: logprobs ?? [],
      });
      sampled[i] = nodes.length - 1;
      at = tokens.prompt + said.length;
    }
  }
  return { nodes, sampled };
}

function createInput(ids: readonly number[]): Pick<TraceNode, 'sampled' | 'token_ids' | 'mask' | 'logprobs'> {
  return { sampled: false, token_ids: ids, mask: ids.map(() => false), logprobs: [] };
}

/** Lists the input of a turn that is new: all messages at the beginning of a segment, otherwise the observations of the turn before. */
function listMessagesBefore({ prompt, turns }: Trajectory, position: number, isFirst: boolean): readonly object[] {
  if (isFirst) return [...prompt, ...turns.slice(0, position).flatMap((turn) => [describeAnswer(turn)].concat(describeObservations(turn)))];
  const before = turns[position - 1];
  return before ? describeObservations(before) : [];
}

/** Describes arguments as the model wrote them. */
function describeAnswer({ message, toolCalls }: Turn): object {
  return {
    role: 'assistant',
    content: message.content,
    ...(message.reasoning !== null && { reasoning_content: message.reasoning }),
    ...(toolCalls.length > 0 && {
      tool_calls: toolCalls.map(({ id, name, arguments: given }) => ({ id, type: 'function', name, arguments: given })),
    }),
  };
}

function describeObservations({ toolCalls, observations }: Turn): readonly object[] {
  const names = new Map(toolCalls.map(({ id, name }) => [id, name]));
  return observations.map(({ toolCall, text }) =>
    toolCall === null
      ? { role: 'user', content: text }
      : { role: 'tool', tool_call_id: toolCall, name: names.get(toolCall) ?? '', content: text },
  );
}

function describeCall({ finishReason, usage, startedAt, endedAt }: Turn, node: number | null, model: string | null): object {
  const { promptTokens, completionTokens, cachedTokens } = usage;
  return {
    node,
    model,
    finish_reason: FINISH_REASONS.has(finishReason) ? finishReason : null,
    usage: { prompt_tokens: promptTokens - cachedTokens, completion_tokens: completionTokens, cached_input_tokens: cachedTokens },
    time: { start: toEpochSeconds(startedAt), end: toEpochSeconds(endedAt) },
  };
}

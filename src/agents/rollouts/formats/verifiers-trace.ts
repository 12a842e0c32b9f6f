import { getCompletion, type Segment } from '../record/sampled-tokens.ts';
import type { Trajectory, Turn } from '../record/trajectory.ts';
import { describeTools, describeTurn } from './chat-messages.ts';

interface TraceNode {
  readonly parent: number | null;
  readonly message: unknown;
  readonly sampled: boolean;
  readonly token_ids: readonly number[];
  readonly mask: readonly boolean[];
  /** One for each true value of the mask. */
  readonly logprobs: readonly number[];
}

/** An episode of verifiers v1 with one trace. Each path from a root to a leaf is a segment. */
export function formatVerifiers(trajectory: Trajectory): object {
  const { task, group, rep, turns, segments, tools, reward, components, stopReason, timings, status } = trajectory;
  const nodes = segments.reduce<readonly TraceNode[]>(
    (before, segment, i) => [...before, ...describeSegment(trajectory, segment, i, before.length)],
    [],
  );
  const trace = {
    version: 1,
    task: { idx: rep, name: task, prompt: trajectory.prompt },
    agent: trajectory.agent,
    tools: describeTools(tools),
    nodes,
    calls: turns.length,
    rewards: { reward: reward === null ? null : { score: reward, weight: 1 } },
    metrics: components,
    stop_condition: stopReason,
    errors: [],
    timing: { started: timings.startedAt, ended: timings.endedAt, model: timings.modelSeconds, tools: timings.actionSeconds },
  };
  return {
    id: trajectory.trajectory,
    env: 'muster',
    task,
    group,
    run: trajectory.agent,
    ok: status !== 'failed',
    errors: [],
    traces: [trace],
  };
}

/** Prompt, completion, prompt, …: what is new in the input of a turn, and what was sampled. */
function describeSegment(trajectory: Trajectory, { ids }: Segment, position: number, first: number): readonly TraceNode[] {
  const nodes: TraceNode[] = [];
  const add = (node: Omit<TraceNode, 'parent'>): void =>
    void nodes.push({ parent: nodes.length === 0 ? null : first + nodes.length - 1, ...node });
  let at = 0;
  for (const [i, { tokens, message }] of trajectory.turns.entries()) {
    if (tokens?.segment !== position) continue;
    const given = ids.slice(at, tokens.prompt);
    const messages = listMessagesBefore(trajectory, i, at === 0);
    add({ message: messages, sampled: false, token_ids: given, mask: given.map(() => false), logprobs: [] });
    const { ids: sampled, logprobs } = getCompletion(trajectory.segments, tokens);
    add({
      message: { role: 'assistant', content: message.content },
      sampled: true,
      token_ids: sampled,
      mask: sampled.map(() => true),
      logprobs: logprobs ?? [],
    });
    at = tokens.prompt + sampled.length;
  }
  return nodes;
}

/** The input of a turn that is new: all messages at the beginning of a segment, otherwise the observations of the turn before. */
function listMessagesBefore({ prompt, turns }: Trajectory, position: number, isFirst: boolean): readonly unknown[] {
  const earlier: readonly Turn[] = isFirst ? turns.slice(0, position) : [];
  if (isFirst) return [...prompt, ...earlier.flatMap(describeTurn)];
  const before = turns[position - 1];
  return before ? describeTurn(before).slice(1) : [];
}

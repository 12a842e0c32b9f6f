import { createHash } from 'node:crypto';
import { InfrastructureError, InputError, getMessage } from '../../kernel/errors.ts';
import type { Outcome } from '../../kernel/outcome.ts';
import type { GradingContext, TaskContent } from '../grading/grading-context.ts';
import { makeSubmission } from '../grading/make-submission.ts';
import { takeVerdict } from '../grading/stages/take-verdict.ts';
import type { KnownSubmission, Task, TaskStep } from '../tasks/task.ts';
import type { Verdict } from '../verification/verdict.ts';
import { playScript, type Acted } from './act-scripted.ts';
import type { Agent } from './agent.ts';

/** An agent's episode on a task. */
export interface TaskEpisode {
  readonly task: Task;
  readonly content: TaskContent;
  readonly agent: Agent;
  /** Decides which hidden cases there are: the same for every agent. */
  readonly environmentSeed: number;
}

export interface PlayedTask {
  readonly outcome: Outcome;
  /** Why the reward is what it is, for people. */
  readonly log: string;
}

/**
 * The agent acts in a workspace, what it leaves behind is exported and judged. What the agent causes is an outcome; what the machine causes is
 * `lost`.
 *
 * @throws InputError when the task cannot be played as it is declared, or its verifier is broken, naming the task; the signal's reason.
 */
export async function playTask(episode: TaskEpisode, context: GradingContext, signal: AbortSignal): Promise<PlayedTask> {
  const { task, content, environmentSeed } = episode;
  const step = getOnlyStep(task);
  try {
    const { submission, actions } = await act(episode, step, context, signal);
    if (!submission)
      return { outcome: { kind: 'failed', cause: 'out-of-memory', detail: `task ${task.id}: the workspace ran out of memory` }, log: '' };
    const verdict = await takeVerdict({ task, step, content, submission, seed: verdictSeed(environmentSeed) }, context, signal);
    return playedOf(task, verdict, actions);
  } catch (error) {
    if (signal.aborted) throw error;
    if (error instanceof InfrastructureError)
      return { outcome: { kind: 'lost', detail: `task ${task.id}: ${getMessage(error)}` }, log: '' };
    if (error instanceof InputError && !error.message.includes(task.id))
      throw new InputError(error.code, `task ${task.id}: ${getMessage(error)}`, { cause: error });
    throw error;
  }
}

async function act({ task, content, agent }: TaskEpisode, step: TaskStep, context: GradingContext, signal: AbortSignal): Promise<Acted> {
  switch (agent.agent) {
    case 'nop':
      return { submission: await makeSubmission(task, step, content, undefined, context, signal), actions: 0 };
    case 'oracle':
      return { submission: await makeSubmission(task, step, content, solutionOf(task), context, signal), actions: 1 };
    case 'scripted': {
      const actions = agent.tasks[task.id] ?? agent.tasks[task.id.split('/').at(-1) ?? ''] ?? agent.actions;
      return await playScript({ task, step, content }, actions, context, signal);
    }
  }
}

/** @throws InputError `task.steps` for a task with several. */
export function getOnlyStep({ id, steps: [step, ...others] }: Task): TaskStep {
  if (others.length === 0) return step;
  throw new InputError('task.steps', `task ${id} has ${others.length + 1} steps; expected one: only such tasks are played`);
}

function solutionOf({ id, oracle }: Task): KnownSubmission {
  if (oracle) return oracle;
  throw new InputError('task.no-oracle', `task ${id} has no solution/: the agent "oracle" has nothing to do there; play it with another`);
}

/** As long as a seed that is drawn for a single verdict. */
function verdictSeed(environmentSeed: number): string {
  return createHash('sha256').update(`muster episode ${environmentSeed}`).digest('hex').slice(0, 32);
}

function playedOf({ id }: Task, verdict: Verdict, length: number): PlayedTask {
  const { reward, problem, gate, components, stages } = verdict;
  if (problem?.kind === 'verifier')
    throw new InputError('task.verifier', `task ${id}: its verifier is broken: ${problem.detail}; "muster task check" tries it`);
  if (reward === null) return { outcome: { kind: 'lost', detail: `task ${id}: ${problem?.detail ?? 'there is no verdict'}` }, log: '' };
  const measured = components.flatMap(({ name, score }) => (score === null ? [] : [[name, score] as const]));
  const failed = stages.filter(({ outcome }) => outcome === 'failed');
  return {
    outcome: { kind: 'completed', return: reward, length, metrics: { gate, ...Object.fromEntries(measured) } },
    log: failed.map(({ stage, detail }) => `${stage}: ${detail}`).join('\n'),
  };
}

import { createHash } from 'node:crypto';
import { InfrastructureError, InputError, getMessage } from '../../kernel/errors.ts';
import type { Outcome } from '../../kernel/outcome.ts';
import type { GradingContext } from '../grading/grading-context.ts';
import { makeSubmission } from '../grading/make-submission.ts';
import { takeVerdict } from '../grading/stages/take-verdict.ts';
import type { KnownSubmission, Task, TaskStep } from '../tasks/task.ts';
import type { Verdict } from '../verification/verdict.ts';
import { playScript } from './act-scripted.ts';
import type { Acted } from './acted/acted.ts';
import { playModel } from './model/act-model.ts';
import type { ModelEndpoint } from './model/model-endpoint.ts';
import type { TaskEpisode } from './task-episode.ts';
import { buildTrajectory } from './build-trajectory.ts';
import type { Trajectory } from '../rollouts/record/trajectory.ts';

export interface PlayContext extends GradingContext {
  /** What a model is asked through; undefined for agents without one. */
  readonly endpoint: ModelEndpoint | undefined;
}

export interface PlayedTask {
  readonly outcome: Outcome;
  /** Why the reward is what it is, for people. */
  readonly log: string;
  /** What a model has seen and said, with the reward. Undefined for agents without a model, and when the episode did not come to its end. */
  readonly trajectory: Trajectory | undefined;
}

/**
 * The agent acts in a workspace, what it leaves behind is exported and judged. What the agent causes is an outcome; what the machine causes is
 * `lost`.
 *
 * @throws InputError when the task cannot be played as it is declared, or its verifier is broken, naming the task; the signal's reason.
 */
export async function playTask(episode: TaskEpisode, context: PlayContext, signal: AbortSignal): Promise<PlayedTask> {
  const { task, content, environmentSeed } = episode;
  const step = getOnlyStep(task);
  const startedAt = context.clock.date();
  try {
    const acted = await act(episode, step, context, signal);
    const { submission, actions } = acted;
    const recorded = (verdict: Verdict | undefined): Trajectory | undefined =>
      buildTrajectory(episode, acted, verdict, { startedAt, endedAt: context.clock.date() });
    if (!submission) {
      const detail = `task ${task.id}: the workspace ran out of memory`;
      return { outcome: { kind: 'failed', cause: 'out-of-memory', detail }, log: '', trajectory: recorded(undefined) };
    }
    const verdict = await takeVerdict({ task, step, content, submission, seed: deriveVerdictSeed(environmentSeed) }, context, signal);
    return { ...getPlayed(task, verdict, actions), trajectory: recorded(verdict) };
  } catch (error) {
    if (signal.aborted) throw error;
    if (error instanceof InfrastructureError)
      return { outcome: { kind: 'lost', detail: `task ${task.id}: ${getMessage(error)}` }, log: '', trajectory: undefined };
    if (error instanceof InputError && !error.message.includes(task.id))
      throw new InputError(error.code, `task ${task.id}: ${getMessage(error)}`, { cause: error });
    throw error;
  }
}

async function act(episode: TaskEpisode, step: TaskStep, context: PlayContext, signal: AbortSignal): Promise<Acted> {
  const { task, content, agent } = episode;
  const made = async (known: KnownSubmission | undefined, actions: number): Promise<Acted> => ({
    submission: await makeSubmission(task, step, content, known, context, signal),
    actions,
    stopReason: 'script-ended',
    course: undefined,
  });
  switch (agent.agent) {
    case 'nop':
      return await made(undefined, 0);
    case 'oracle':
      return await made(getSolution(task), 1);
    case 'scripted': {
      const actions = agent.tasks[task.id] ?? agent.tasks[task.id.split('/').at(-1) ?? ''] ?? agent.actions;
      return await playScript({ task, step, content }, actions, context, signal);
    }
    case 'model': {
      if (!context.endpoint) throw new RangeError('a model acts without an endpoint');
      return await playModel({ task, step, content }, agent, episode.policySeed, { ...context, endpoint: context.endpoint }, signal);
    }
  }
}

/** @throws InputError `task.steps` for a task with several. */
export function getOnlyStep({ id, steps: [step, ...others] }: Task): TaskStep {
  if (others.length === 0) return step;
  throw new InputError('task.steps', `task ${id} has ${others.length + 1} steps; expected one: only such tasks are played`);
}

function getSolution({ id, oracle }: Task): KnownSubmission {
  if (oracle) return oracle;
  throw new InputError('task.no-oracle', `task ${id} has no solution/: the agent "oracle" has nothing to do there; play it with another`);
}

/** As long as a seed that is drawn for a single verdict. */
function deriveVerdictSeed(environmentSeed: number): string {
  return createHash('sha256').update(`muster episode ${environmentSeed}`).digest('hex').slice(0, 32);
}

function getPlayed({ id }: Task, verdict: Verdict, length: number): Omit<PlayedTask, 'trajectory'> {
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

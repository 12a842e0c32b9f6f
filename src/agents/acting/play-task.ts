import { createHash } from 'node:crypto';
import { InfrastructureError, InputError, getMessage } from '../../kernel/errors.ts';
import type { Outcome } from '../../kernel/outcome.ts';
import type { GradingContext } from '../grading/grading-context.ts';
import { applySubmission, SOLUTION } from '../grading/make-submission.ts';
import { takeVerdict } from '../grading/stages/take-verdict.ts';
import type { KnownSubmission, Task } from '../tasks/task.ts';
import { combineRewards } from '../tasks/task-reward.ts';
import type { Verdict } from '../verification/verdict.ts';
import { playScript } from './act-scripted.ts';
import { findActions } from './agent.ts';
import type { EpisodeOffers } from './external/episode-offers.ts';
import { playExternal } from './external/play-external.ts';
import { playModel } from './model/act-model.ts';
import type { ModelEndpoint } from './model/model-endpoint.ts';
import { playProgram } from './program/act-program.ts';
import type { Gateway } from './program/gateway.ts';
import type { TaskEpisode } from './task-episode.ts';
import { buildTranscript } from './build-transcript.ts';
import type { Transcript } from './transcript/transcript.ts';
import { buildTrajectory } from './build-trajectory.ts';
import { type PlayedStep, playSteps, type StepsTerms } from './play-steps.ts';
import type { Trajectory } from '../rollouts/record/trajectory.ts';

/** Characters of what a program has printed, in the log of an episode. */
const PRINTED = 2000;

export interface PlayContext extends GradingContext {
  /** The model's endpoint; undefined for agents without one. */
  readonly endpoint: ModelEndpoint | undefined;
  /** The program's way to its model. It is undefined for agents that are no programs. */
  readonly gateway: Gateway | undefined;
  /** Offers episodes to agents outside of Muster; undefined for other agents. */
  readonly offers: EpisodeOffers | undefined;
  /** Whether to make a transcript, with what each action changes. */
  readonly isShown: boolean;
  /** Called when the agent has ended the last step and its grading begins. */
  readonly onActed?: (() => void) | undefined;
}

export interface PlayedTask {
  readonly outcome: Outcome;
  /** Why the reward is what it is, for people. */
  readonly log: string;
  /**
   * The messages that a model received and answered in each step, with the step's reward. There are none for agents without a model, and when the
   * episode did not end normally.
   */
  readonly trajectories: readonly Trajectory[];
  /** Shows people what the agent did. It is undefined when it was not requested, and when the episode did not end normally. */
  readonly transcript: Transcript | undefined;
}

/**
 * Plays a task: the agent acts in a workspace, and what it leaves behind is exported and graded; step by step where the task has several. What the
 * agent causes is an outcome; what the machine causes is `lost`.
 *
 * @throws InputError when the task cannot be played as it is declared, or its verifier is broken, naming the task; the signal's reason.
 */
export async function playTask(episode: TaskEpisode, context: PlayContext, signal: AbortSignal): Promise<PlayedTask> {
  const { task } = episode;
  const startedAt = context.clock.date();
  try {
    const graded = new Map<string, number>();
    const played = await playSteps(episode, createStepsTerms(episode, context, graded), context.sandboxes, signal);
    const endedAt = context.clock.date();
    const trajectories = played.flatMap(({ step, acted, verdict }) => {
      const isOnly = task.steps.length === 1;
      const trajectory = isOnly ? episode.identity.trajectory : `${episode.identity.trajectory}-${step.name}`;
      const times = { startedAt, endedAt, gradingSeconds: graded.get(step.name) };
      return buildTrajectory({ ...episode, identity: { ...episode.identity, trajectory } }, acted, verdict, times) ?? [];
    });
    return { ...getPlayed(task, played), trajectories, transcript: context.isShown ? buildTranscript(played) : undefined };
  } catch (error) {
    if (signal.aborted) throw error;
    if (error instanceof InfrastructureError)
      return {
        outcome: { kind: 'lost', detail: `task ${task.id}: ${getMessage(error)}` },
        log: '',
        trajectories: [],
        transcript: undefined,
      };
    if (error instanceof InputError && !error.message.includes(task.id))
      throw new InputError(error.code, `task ${task.id}: ${getMessage(error)}`, { cause: error });
    throw error;
  }
}

/** @param graded gets the seconds that the grading of each step has taken. */
function createStepsTerms(episode: TaskEpisode, context: PlayContext, graded: Map<string, number>): StepsTerms {
  const { task, content, agent, environmentSeed } = episode;
  return {
    own: agent.agent === 'oracle' ? [SOLUTION] : [],
    showsChanges: context.isShown,
    act: async (open, workspace, signal) => {
      const { session } = workspace;
      switch (agent.agent) {
        case 'nop':
          return { actions: 0, stopReason: 'script-ended', course: undefined };
        case 'oracle':
          await applySubmission(session, open, getSolution(task), signal);
          return { actions: 1, stopReason: 'script-ended', course: undefined };
        case 'scripted':
          return await playScript(open, findActions(agent, open), workspace, context.clock, signal);
        case 'model': {
          if (!context.endpoint) throw new RangeError('a model acts without an endpoint');
          return await playModel(
            open,
            agent,
            episode.policySeed,
            { ...workspace, clock: context.clock, endpoint: context.endpoint },
            signal,
          );
        }
        case 'program': {
          const { clock, endpoint, gateway } = context;
          if (!endpoint || !gateway) throw new RangeError('a program acts without an endpoint or a gateway');
          return await playProgram(open, agent, episode.policySeed, { session, clock, endpoint, gateway }, signal);
        }
        case 'external': {
          const { clock, offers } = context;
          if (!offers) throw new RangeError('an external agent acts without a server that offers its episodes');
          return await playExternal(open, agent, episode.policySeed, { ...workspace, clock, offers }, signal);
        }
      }
    },
    judge: async (step, submission, signal) => {
      if (step === task.steps.at(-1)) context.onActed?.();
      const began = context.clock.now();
      const verdict = await takeVerdict({ task, step, content, submission, seed: deriveVerdictSeed(environmentSeed) }, context, signal);
      graded.set(step.name, (context.clock.now() - began) / 1000);
      return verdict;
    },
  };
}

function getSolution({ id, oracle }: Task): KnownSubmission {
  if (oracle) return oracle;
  throw new InputError('task.no-oracle', `task ${id} has no solution/ for the agent "oracle"; play it with another agent`);
}

/** Derives a seed that is as long as one that is drawn for a single verdict. */
function deriveVerdictSeed(environmentSeed: number): string {
  return createHash('sha256').update(`muster episode ${environmentSeed}`).digest('hex').slice(0, 32);
}

function getPlayed(task: Task, played: readonly PlayedStep[]): Omit<PlayedTask, 'trajectories' | 'transcript'> {
  const verdicts = played.flatMap(({ step, verdict }) => (verdict ? [{ step: step.name, verdict }] : []));
  if (verdicts.length < played.length) {
    const refusal = played.at(-1)?.acted.refusal;
    const detail = `task ${task.id}: ${refusal ?? 'the workspace ran out of memory'}`;
    return { outcome: { kind: 'failed', cause: refusal === undefined ? 'out-of-memory' : 'policy-crash', detail }, log: '' };
  }
  const broken = verdicts.find(({ verdict }) => verdict.problem?.kind === 'verifier')?.verdict;
  if (broken)
    throw new InputError(
      'task.verifier',
      `task ${task.id}: its verifier is broken: ${broken.problem?.detail}; "muster task check" tries it`,
    );
  const reward = combineRewards(
    task,
    verdicts.map(({ verdict }) => verdict.reward),
  );
  const length = played.reduce((sum, { acted }) => sum + acted.actions, 0);
  if (reward === null) {
    const problem = verdicts.find(({ verdict }) => verdict.reward === null)?.verdict.problem;
    return { outcome: { kind: 'lost', detail: `task ${task.id}: ${problem?.detail ?? 'there is no verdict'}` }, log: '' };
  }
  const log = [
    ...verdicts.flatMap(({ step, verdict }) =>
      describeFailed(verdict).map((line) => (task.steps.length === 1 ? line : `${step}: ${line}`)),
    ),
    ...played.flatMap(({ acted }) => describePrinted(acted)),
  ];
  return {
    outcome: {
      kind: 'completed',
      return: reward,
      length,
      metrics: combineMetrics(
        task,
        verdicts.map(({ verdict }) => verdict),
      ),
    },
    log: log.join('\n'),
  };
}

/** Combines the steps' values of each name, as for the reward. */
function combineMetrics(task: Task, verdicts: readonly Verdict[]): Readonly<Record<string, number>> {
  const measured = verdicts.map(
    ({ gate, components }) =>
      new Map([['gate', gate], ...components.flatMap(({ name, score }) => (score === null ? [] : [[name, score] as const]))]),
  );
  const names = [...new Set(measured.flatMap((each) => [...each.keys()]))];
  return Object.fromEntries(
    names.map((name) => [
      name,
      combineRewards(
        task,
        measured.map((each) => each.get(name) ?? 0),
      ) ?? 0,
    ]),
  );
}

/** Describes the output of a program that has not ended by itself. */
function describePrinted({ stopReason, printed = '' }: PlayedStep['acted']): readonly string[] {
  if (stopReason === 'submitted' || printed === '') return [];
  return [`the program ended with "${stopReason}", and had printed: ${printed.slice(-PRINTED)}`];
}

function describeFailed({ stages }: Verdict): readonly string[] {
  return stages.filter(({ outcome }) => outcome === 'failed').map(({ stage, detail }) => `${stage}: ${detail}`);
}

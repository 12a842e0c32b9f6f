import { randomBytes } from 'node:crypto';
import { ACTION_NAMES } from '../../agents/actions/action.ts';
import { stepAnswerSchema } from '../../agents/arena/episode-answers.ts';
import type { AgentEpisodeId } from '../../agents/arena/episode-ids.ts';
import { type EpisodeLimits, findReachedLimit, NOTHING_SPENT, type Spent } from '../../agents/arena/episode-state.ts';
import { buildLineage, readSteps } from '../../agents/arena/shared-steps.ts';
import type { EpisodeOrigin, StoredAgentEpisode, Trajectories } from '../../agents/arena/trajectories.ts';
import type { Task } from '../../agents/tasks/task.ts';
import type { AuditTrail } from '../../evaluation-store/audit-trail.ts';
import { QuotaError } from '../access/quota-error.ts';
import { EpisodeStateError } from './episode-errors.ts';
import { requireDeltas, requireStep } from './episode-history.ts';

export interface CreationParts {
  readonly trajectories: Trajectories;
  readonly audit: AuditTrail;
  /** Returns the limits of tasks that set none. */
  readonly limits: () => EpisodeLimits;
  /** Returns the number of episodes that a principal may have open at a time; undefined for any number. */
  readonly openEpisodes: (principal: string) => number | undefined;
  readonly newId: () => AgentEpisodeId;
}

export interface NewEpisode {
  readonly agent: string;
  readonly seed: number;
  readonly principal: string;
}

export interface ForkRequest {
  /** The step after which the forks begin; undefined for the last one. */
  readonly at: number | undefined;
  readonly n: number;
  /** When it is undefined, the episode keeps its own label. */
  readonly agent: string | undefined;
}

/** Stores new episodes, within the quota of their principal. */
export class EpisodeCreation {
  readonly #parts: CreationParts;

  constructor(parts: CreationParts) {
    this.#parts = parts;
  }

  /** @throws QuotaError `quota.open-episodes` when `more` episodes would be too many. */
  async assertRoom(principal: string, more: number): Promise<void> {
    const most = this.#parts.openEpisodes(principal);
    if (most === undefined) return;
    const open = await this.#parts.trajectories.countOpen(principal);
    if (open + more <= most) return;
    const reason = `${open} open, ${more} more asked for, and quotas.openEpisodes is ${most}; submit or cancel some`;
    throw new QuotaError({ kind: 'refuse', code: 'quota.open-episodes', reason, retryAfterSeconds: 30 });
  }

  /** Starts an episode from the beginning of a task with one step. */
  async start({ id: taskId, digest, steps, arena }: Task, { principal, agent, seed }: NewEpisode): Promise<StoredAgentEpisode> {
    const { trajectories, audit, limits: defaults, newId } = this.#parts;
    const limits = defaults();
    const episode = await trajectories.create({
      id: newId(),
      principal,
      task: taskId,
      taskDigest: digest,
      agent,
      seed,
      gradingSeed: createGradingSeed(),
      limits: { ...limits, seconds: steps[0].agent.timeoutSeconds ?? limits.seconds },
      actions: ACTION_NAMES.filter((each) => each === 'submit' || (arena.actions?.includes(each) ?? true)),
      terms: arena.reward,
      gradesAbandoned: arena.abandoned === 'graded',
      origin: undefined,
    });
    await audit.record({ principal, action: 'episode.start', target: episode.id, details: { task: taskId, agent } });
    return episode;
  }

  /** Starts episodes of a principal that continue after a step of another episode. @throws as `assertRoom` and `findForkOrigin` do. */
  async fork(parent: StoredAgentEpisode, { at, n, agent }: ForkRequest, principal: string): Promise<readonly StoredAgentEpisode[]> {
    const { trajectories, audit, newId } = this.#parts;
    await this.assertRoom(principal, n);
    const origin = await findForkOrigin(trajectories, parent, at);
    const { task, taskDigest, seed, limits, actions, terms, gradesAbandoned } = parent;
    const rest = { principal, task, taskDigest, agent: agent ?? parent.agent, seed, limits, actions, terms, gradesAbandoned, origin };
    const forks = await Promise.all(
      Array.from({ length: n }, () => trajectories.create({ ...rest, id: newId(), gradingSeed: createGradingSeed() })),
    );
    const details = { step: origin.lineage.at(-1)?.through ?? 0, episodes: forks.map(({ id }) => id) };
    await audit.record({ principal, action: 'episode.fork', target: parent.id, details });
    return forks;
  }
}

/** Creates the seed of one episode. It decides the hidden cases, and is published when the episode is closed. A fork has its own. */
function createGradingSeed(): string {
  return randomBytes(16).toString('hex');
}

/**
 * Finds the step after which the forks of an episode begin.
 *
 * @param at the step's number; the last one that is no submission when left out. @throws InputError `step.unknown`; EpisodeStateError `episode.over`
 * after a submission, or a step that reached a limit; `episode.files`.
 */
async function findForkOrigin(
  trajectories: Pick<Trajectories, 'steps'>,
  episode: StoredAgentEpisode,
  at: number | undefined,
): Promise<EpisodeOrigin> {
  const steps = await readSteps(trajectories, episode, 0, requireStep(episode, 'body.at', at));
  const last = steps.at(-1);
  const answer = last && stepAnswerSchema.parse(JSON.parse(last.answer));
  if (answer === undefined) return { lineage: buildLineage(episode, 0), spent: NOTHING_SPENT };
  if (answer.done && !answer.truncated && at === undefined) return await findForkOrigin(trajectories, episode, answer.step - 1);
  if (answer.done || findReachedLimit(answer.remaining) !== undefined)
    throw new EpisodeStateError('episode.over', `step ${answer.step} ends episode ${episode.id}: fork it at an earlier one (body.at)`);
  requireDeltas(episode, steps, answer.step);
  return { lineage: buildLineage(episode, answer.step), spent: computeSpent(episode.limits, answer.remaining) };
}

function computeSpent(limits: EpisodeLimits, remaining: Spent): Spent {
  return {
    seconds: limits.seconds - remaining.seconds,
    bytesWritten: limits.bytesWritten - remaining.bytesWritten,
    output: limits.output - remaining.output,
  };
}

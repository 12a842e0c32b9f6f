import { stepAnswerSchema } from '../../agents/arena/episode-answers.ts';
import { NOTHING_SPENT, findReachedLimit, type EpisodeLimits, type Spent } from '../../agents/arena/episode-state.ts';
import { readSteps, buildLineage } from '../../agents/arena/shared-steps.ts';
import type { EpisodeOrigin, StoredAgentEpisode, Trajectories } from '../../agents/arena/trajectories.ts';
import { listDeltas } from './episode-course.ts';
import { EpisodeStateError } from './episode-errors.ts';
import { requireStep } from './episode-history.ts';

/**
 * The step behind which the forks of an episode begin.
 *
 * @param at its last step that changed the workspace, when it is left out: a submission is no part of a fork.
 * @throws InputError `step.unknown`; EpisodeStateError `episode.over` behind a submission, or a step with which a limit was reached; `episode.files`.
 */
export async function findForkOrigin(
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
  if (listDeltas(steps) === undefined)
    throw new EpisodeStateError('episode.files', `episode ${episode.id}: the files of a step up to ${answer.step} were not kept`);
  return { lineage: buildLineage(episode, answer.step), spent: computeSpent(episode.limits, answer.remaining) };
}

function computeSpent(limits: EpisodeLimits, remaining: Spent): Spent {
  return {
    seconds: limits.seconds - remaining.seconds,
    bytesWritten: limits.bytesWritten - remaining.bytesWritten,
    output: limits.output - remaining.output,
  };
}

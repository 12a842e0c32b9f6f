import type { AgentEpisodeId } from './episode-ids.ts';
import type { EpisodeOrigin, NewAgentEpisode, SharedSteps, StoredStep, Trajectories } from './trajectories.ts';

/** Counts the steps that a fork has when it begins. */
export function countSharedSteps(origin: EpisodeOrigin | undefined): number {
  return origin?.lineage.at(-1)?.through ?? 0;
}

/** Returns the first episode of the tree of forks to which an episode belongs. */
export function getTree({ id, origin }: Pick<NewAgentEpisode, 'id' | 'origin'>): AgentEpisodeId {
  return origin?.lineage[0]?.episode ?? id;
}

/** Builds the lineage of a fork of an episode after a step: the steps until then that the episode shares with others, and its own. */
export function buildLineage({ id, origin }: Pick<NewAgentEpisode, 'id' | 'origin'>, through: number): readonly SharedSteps[] {
  const shared = (origin?.lineage ?? []).filter((_, i, all) => (all[i - 1]?.through ?? 0) < through || i === 0);
  const cut = shared.map(({ episode, through: last }) => ({ episode, through: Math.min(last, through) }));
  return through > countSharedSteps(origin) || cut.length === 0 ? [...cut, { episode: id, through }] : cut;
}

/** Reads the steps with higher numbers than `after`, in order, including those that the episode shares with the ones it was forked from. */
export async function readSteps(
  trajectories: Pick<Trajectories, 'steps'>,
  { id, origin }: Pick<NewAgentEpisode, 'id' | 'origin'>,
  after: number,
  limit: number,
): Promise<readonly StoredStep[]> {
  const found: StoredStep[] = [];
  for (const { episode, through } of [...(origin?.lineage ?? []), { episode: id, through: Infinity }]) {
    const last = found.at(-1)?.number ?? after;
    const left = Math.min(limit - found.length, through - last);
    if (left > 0) found.push(...(await trajectories.steps(episode, last, left)));
  }
  return found;
}

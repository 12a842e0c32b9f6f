import type { AgentEpisodeId } from '../../../agents/arena/episode-ids.ts';
import type { EpisodeFilter } from '../../../agents/arena/trajectories.ts';
import type { Position } from '../../../evaluation-store/paging.ts';
import type { Filter, Query } from './firestore-client.ts';
import { formatValue } from './firestore-values.ts';

/** The names of the collections: episodes, below each its steps, below each the parts that do not fit into one document. */
export const EPISODES = 'muster-episodes';
export const STEPS = 'muster-steps';
export const PARTS = 'muster-parts';

export function joinPath(id: AgentEpisodeId): string {
  return `${EPISODES}/${id}`;
}

/** Lists the latest episodes first. deploy/firestore has the indexes for these queries. */
export function buildListQuery(filter: EpisodeFilter, limit: number, after: Position | undefined): Query {
  const { principal, task, agent, state, leastReward } = filter;
  const equal = Object.entries({ principal, task, agent, state }).flatMap(([field, value]): Filter[] =>
    value === undefined ? [] : [{ field, op: 'EQUAL', value: formatValue(value) }],
  );
  const least: readonly Filter[] =
    leastReward === undefined ? [] : [{ field: 'reward', op: 'GREATER_THAN_OR_EQUAL', value: formatValue(leastReward) }];
  return {
    collection: EPISODES,
    where: [...equal, ...least],
    orderBy: ['listed'],
    descending: true,
    after: after && [formatValue(formatListed(after))],
    limit,
  };
}

/** Sorts as episodes are listed: by time, and by id where times are equal. */
export function formatListed({ milliseconds, id }: Position): string {
  return `${String(milliseconds).padStart(16, '0')}.${id}`;
}

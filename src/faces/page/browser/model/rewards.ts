import type { BoardResource } from '../../../http/schemas/rollout-schemas.ts';

type Group = Pick<BoardResource['groups'][number], 'number' | 'mean' | 'versions'>;

export interface Rewards {
  readonly by: 'version' | 'group';
  readonly points: readonly { readonly x: number; readonly mean: number }[];
}

/**
 * Computes the mean rewards of the groups that a trainer gets: by the latest version in each group, averaged over groups. By group where the trainer
 * has reported fewer than two versions. Filtered groups are excluded.
 */
export function readRewards(groups: readonly Group[]): Rewards {
  const rewarded = groups.flatMap(({ number, mean, versions }) =>
    mean === null ? [] : [{ number, mean, version: versions?.newest ?? null }],
  );
  const byVersion = new Map<number, number[]>();
  for (const { version, mean } of rewarded) if (version !== null) byVersion.set(version, [...(byVersion.get(version) ?? []), mean]);
  const ascending = (points: Rewards['points']): Rewards['points'] => points.toSorted((a, b) => a.x - b.x);
  if (byVersion.size < 2) return { by: 'group', points: ascending(rewarded.map(({ number, mean }) => ({ x: number, mean }))) };
  const means = Array.from(byVersion, ([x, each]) => ({ x, mean: each.reduce((sum, mean) => sum + mean, 0) / each.length }));
  return { by: 'version', points: ascending(means) };
}

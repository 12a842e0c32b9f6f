import { z } from 'zod';
import { trajectorySchema } from '../record/trajectory.ts';
import { isTooStale } from '../groups/plan-starts.ts';
import type { LeasedGroup } from './rollout-streams.ts';
import { nameGroup, type StreamId } from './stream-ids.ts';

const count = z.int().min(0);

const headSchema = z.strictObject({
  group: z.string().describe('its id: the same whenever it comes again'),
  lease: count.describe('to acknowledge it by'),
  cursor: count.describe('groups that were finished later have greater ones'),
  task: z.string(),
  taskDigest: z.string(),
  taskSeed: count,
  size: count.describe('trajectories that have a part in its statistics'),
  mean: z.number().nullable().describe('of their rewards'),
  staleness: count.describe('by how many versions the policy is newer than the oldest one that took part'),
  versions: z
    .strictObject({ oldest: z.int().nullable(), newest: z.int().nullable() })
    .describe('of the policy that took part, as they were reported; null when none was'),
  advantages: z.array(z.number().nullable()).describe('one for each trajectory; null for one that has no part in the group'),
});

export const deliveredGroupSchema = headSchema
  .extend({ trajectories: z.array(trajectorySchema).describe('without those that were lost through no fault of the agent') })
  .describe('a group of trajectories, as a trainer gets it');

export type DeliveredGroup = z.infer<typeof deliveredGroupSchema>;

/** @param version number of versions that were reported since the stream began. @returns the JSON of a DeliveredGroup, on one line. */
export function formatDeliveredGroup(
  stream: StreamId,
  { number, cursor, lease, head, trajectories }: LeasedGroup,
  version: number,
): string {
  const { number: _, oldest, advantages, ...rest } = head;
  const kept = trajectories.flatMap((trajectory, i) =>
    trajectory === undefined ? [] : [{ trajectory, advantage: advantages[i] ?? null }],
  );
  const described = {
    group: nameGroup(stream, number),
    lease,
    cursor,
    ...rest,
    staleness: Math.max(0, version - oldest),
    advantages: kept.map(({ advantage }) => advantage),
  };
  return `${JSON.stringify(described).slice(0, -1)},"trajectories":[${kept.map(({ trajectory }) => trajectory).join(',')}]}`;
}

/** Finds the least version, as a number of reports, that the oldest one in a group may have for a trainer to get the group. */
export function findOldestAllowed(version: number, terms: { readonly maxStaleness: number }): number {
  return isTooStale(0, version, terms) ? version - terms.maxStaleness : 0;
}

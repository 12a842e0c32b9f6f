import { findOldestAllowed, formatDeliveredGroup } from '../../agents/rollouts/streams/delivered-group.ts';
import type { RolloutStreams, StoredStream } from '../../agents/rollouts/streams/rollout-streams.ts';

export interface GroupsRequest {
  /** Groups after this cursor. */
  readonly after: number;
  readonly leaseSeconds: number;
  /** The largest number of groups to lease. */
  readonly limit: number;
}

/** Groups that were leased, each the JSON of a DeliveredGroup. */
export interface LeasedGroups {
  readonly groups: readonly string[];
  readonly stream: StoredStream;
}

/** Leases the groups that are ready, up to the limit of the request. */
export async function leaseGroups(
  streams: RolloutStreams,
  stream: StoredStream,
  { after, leaseSeconds, limit }: GroupsRequest,
): Promise<readonly string[]> {
  if (stream.state === 'cancelled') return [];
  const last = await streams.findLastReported(stream.principal, stream.policy);
  const version = Math.max(0, (last?.ordinal ?? 0) - stream.reportedBefore);
  const oldest = findOldestAllowed(version, stream.terms);
  const groups: string[] = [];
  while (groups.length < limit) {
    const leased = await streams.lease(stream.id, { milliseconds: leaseSeconds * 1000, after, oldest });
    if (leased === undefined) break;
    groups.push(formatDeliveredGroup(stream.id, leased, version));
  }
  return groups;
}

import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { GroupMember } from '../groups/compute-advantages.ts';
import type { Trajectory } from '../record/trajectory.ts';
import type { GroupTerms } from './stream-order.ts';

const share = z.number().nullable();

/** What a group needs to know about one of its trajectories. */
export const memberResultSchema = z.strictObject({
  core: share,
  reward: share,
  isMasked: z.boolean(),
  /** The least version that sampled a turn of it; null when none is known. */
  oldest: z.int().nullable(),
  newest: z.int().nullable(),
});

export type MemberResult = z.infer<typeof memberResultSchema> & GroupMember;

/** The result of a trajectory that was lost in every attempt. */
export const VOID_MEMBER: MemberResult = { core: null, reward: null, isMasked: true, oldest: null, newest: null };

export function summariseMember(
  { reward, components, status, turns }: Pick<Trajectory, 'reward' | 'components' | 'status' | 'turns'>,
  { maskTruncated }: Pick<GroupTerms, 'maskTruncated'>,
): MemberResult {
  const versions = turns.flatMap(({ policyVersion }) => (policyVersion === null ? [] : [policyVersion]));
  return {
    core: reward === null ? null : (components['correctness'] ?? reward),
    reward,
    isMasked: status === 'failed' || status === 'cancelled' || (status === 'truncated' && maskTruncated),
    oldest: versions.length === 0 ? null : Math.min(...versions),
    newest: versions.length === 0 ? null : Math.max(...versions),
  };
}

/** Derives the seed of a member's sampling. The members of a group share the task's seed, but not this one. */
export function deriveMemberSeed(groupSeed: number, rep: number): number {
  return createHash('sha256').update(`muster member ${groupSeed} ${rep}`).digest().readUInt32LE(0);
}

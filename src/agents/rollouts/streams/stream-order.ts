import { z } from 'zod';
import { InputError } from '../../../kernel/errors.ts';
import { ADVANTAGES, type AdvantageTerms } from '../groups/compute-advantages.ts';
import type { StreamTerms } from '../groups/plan-starts.ts';

const MOST_MEMBERS = 1024;
const MOST_CONCURRENCY = 10_000;
const MOST_BATCH = 100_000;

const members = z.int().min(1).max(MOST_MEMBERS);

/** How a stream makes its groups, with nothing left out. Stored with the stream. */
export const groupTermsSchema = z.strictObject({
  groupSize: members,
  /** The largest number of members of a group that is grown. */
  growTo: members,
  concurrency: z.int().min(1).max(MOST_CONCURRENCY),
  batch: z.int().min(1).max(MOST_BATCH),
  maxStaleness: z.int().min(0).max(1_000_000),
  total: z.int().min(1).max(1_000_000_000).optional(),
  advantages: z.enum(ADVANTAGES),
  ddof: z.union([z.literal(0), z.literal(1)]),
  keepFiltered: z.boolean(),
  maskTruncated: z.boolean(),
});

export type GroupTerms = z.infer<typeof groupTermsSchema>;

const given = groupTermsSchema.shape;

/** The terms that a caller gives. */
export const givenTermsSchema = z.strictObject({
  groupSize: given.groupSize.describe('trajectories of a group: of one task with one task seed, each with a sampling seed of its own'),
  growTo: given.growTo
    .optional()
    .describe('trajectories of a group whose rewards differ: others stay at `groupSize`; `groupSize` when left out'),
  concurrency: given.concurrency.describe('trajectories whose agents act at a time; one that is graded makes room for the next'),
  batch: given.batch
    .optional()
    .describe('groups that the trainer takes for one version of the policy; when left out, as many as run at a time'),
  maxStaleness: given.maxStaleness.describe('by how many versions the policy may be newer than the oldest one that took part in a group'),
  total: given.total.describe('groups to be delivered in all; no end when left out'),
  advantages: given.advantages.default('grpo'),
  ddof: given.ddof.default(1).describe('of the standard deviation of grpo: 1 divides the squares by n - 1, 0 by n'),
  keepFiltered: given.keepFiltered.default(false).describe('deliver also groups whose core rewards are all the same'),
  maskTruncated: given.maskTruncated.default(false).describe('leave trajectories out of the group that a limit has cut off'),
});

export type GivenTerms = z.infer<typeof givenTermsSchema>;

/** @throws InputError `rollouts.grow-to` */
export function completeTerms({ growTo, batch, ...rest }: GivenTerms): GroupTerms {
  const { groupSize, concurrency } = rest;
  if (growTo !== undefined && growTo < groupSize)
    throw new InputError('rollouts.grow-to', `growTo: expected groupSize, which is ${groupSize}, or more; got ${growTo}`);
  return { ...rest, growTo: growTo ?? groupSize, batch: batch ?? Math.max(1, Math.floor(concurrency / groupSize)) };
}

/** Converts the terms for the planner. As many groups may wait as the trainer may get without a new version. */
export function toStreamTerms({ groupSize, concurrency, batch, maxStaleness, total }: GroupTerms): StreamTerms {
  return { groupSize, concurrency, batch, maxStaleness, mostWaiting: (maxStaleness + 1) * batch, total };
}

export function toAdvantageTerms({ advantages, ddof }: GroupTerms): AdvantageTerms {
  return advantages === 'grpo' ? { kind: advantages, ddof } : { kind: advantages };
}

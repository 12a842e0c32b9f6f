import { z } from 'zod';

/** A submission that the task brings along, and what it has to score. */
const trialSchema = z.strictObject({
  name: z.string(),
  role: z.enum(['oracle', 'nop', 'cheat', 'twin']),
  expected: z.union([z.literal(0), z.literal(1)]),
  rewards: z.array(z.number().nullable()).describe('of each time; null where there was none'),
  finding: z
    .enum(['as-expected', 'wrong', 'flaky', 'unknown'])
    .describe('flaky: not the same each time. unknown: the infrastructure failed'),
  detail: z.string().describe('of the first verdict that was not expected; empty when there is none'),
});

/** What `muster task check` finds. */
export const soundnessSchema = z.strictObject({
  task: z.string(),
  digest: z.string(),
  isSound: z.boolean(),
  trials: z.array(trialSchema),
  notices: z.array(z.string()),
});

export type Trial = z.infer<typeof trialSchema>;
export type Soundness = z.infer<typeof soundnessSchema>;

/** What the rewards of one submission come to. */
export function findingOf(expected: 0 | 1, rewards: readonly (number | null)[]): Trial['finding'] {
  if (rewards.length === 0 || rewards.includes(null)) return 'unknown';
  if (new Set(rewards).size > 1) return 'flaky';
  return rewards[0] === expected ? 'as-expected' : 'wrong';
}

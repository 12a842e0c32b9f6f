import { z } from 'zod';
import type { RewardTerms } from '../tasks/arena-rules.ts';

/** What a reward is computed from, stored beside it: the same components under other weights give another reward. */
const share = z.number().min(0).max(1);

export const rewardComponentsSchema = z
  .strictObject({
    gate: z.union([z.literal(0), z.literal(1)]).describe('0: it does not compile, breaks a constraint, or shows signs of tampering'),
    core: share.describe('what the verifier says of correctness'),
    coreStep: share.describe('the smallest difference between two values of the core'),
    style: z.number().min(-1).max(1).nullable().describe('fewer findings of the linter, as a share; null: not measured'),
    time: share.nullable().describe('more time and steps than the task’s own solution, as a share; null: not measured'),
    errors: share.describe('kinds of actions that were none, as a share of all kinds'),
  })
  .describe('components');

export type RewardComponents = z.infer<typeof rewardComponentsSchema>;

/** Three kinds of shaping together stay below half of the smallest step of the core. */
const SHARE_OF_STEP = 1 / 7;

/**
 * Computes `clamp(gate · base · core + [core = 1] · (style − time) − errors, 0, base)`. Shaping never outweighs a test: each kind is at most a
 * seventh of the smallest difference between two values of `base · core`, whatever its weight. Doing nothing has the reward 0, the task's own
 * solution `base`; of two trajectories that differ in the core alone, the one with the higher core has at least the other's reward.
 */
export function shapeReward(components: RewardComponents, terms: RewardTerms): number {
  const { gate, core, coreStep } = components;
  const { base } = terms;
  const scored = gate * base * core;
  if (terms.shaping === 'none') return clamp(scored, base);
  const at = (weight: number, of: number): number => Math.min(weight, coreStep * SHARE_OF_STEP) * base * of;
  const isWhole = core === 1 && gate === 1;
  const shaping = isWhole ? at(terms.style, components.style ?? 0) - at(terms.time, components.time ?? 0) : 0;
  return clamp(scored + shaping - at(terms.errors, components.errors), base);
}

function clamp(value: number, most: number): number {
  return value > 0 ? Math.min(most, value) : 0;
}

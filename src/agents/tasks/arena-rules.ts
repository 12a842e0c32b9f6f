import { z } from 'zod';
import { ACTION_NAMES } from '../actions/action.ts';
import { ownToolSchema } from '../actions/own-tool.ts';

const share = z.number().min(0).max(1);

/** Weights of a reward: what is shaped, beside what the tests decide. */
export const rewardTermsSchema = z
  .strictObject({
    base: z.number().positive().describe('the reward of a submission that passes everything'),
    style: share.describe('of the base, at most'),
    time: share.describe('of the base, at most'),
    errors: share.describe('of the base, at most'),
    shaping: z.enum(['full', 'none']).describe('none: the core alone'),
  })
  .describe('weights');

export type RewardTerms = z.infer<typeof rewardTermsSchema>;

export const DEFAULT_TERMS: RewardTerms = { base: 1, style: 0.05, time: 0.05, errors: 0.05, shaping: 'full' };

const { base, style, time, errors, shaping } = rewardTermsSchema.shape;

/** Weights with optional parts, which have the usual values. */
export const weightsSchema = z
  .strictObject({
    base: base.default(DEFAULT_TERMS.base),
    style: style.default(DEFAULT_TERMS.style),
    time: time.default(DEFAULT_TERMS.time),
    errors: errors.default(DEFAULT_TERMS.errors),
    shaping: shaping.default(DEFAULT_TERMS.shaping),
  })
  .describe('weights of a reward');

const styleSchema = z
  .strictObject({
    command: z
      .array(z.string().min(1))
      .min(1)
      .max(100)
      .describe('a linter of the image or of /tests, which prints "path:line:" for each finding; the changed files follow as arguments'),
    files: z.array(z.string().min(1)).min(1).max(100).describe('patterns of the files that it reads, relative to the working directory'),
    timeout: z.number().positive().max(3600).default(60).describe('seconds'),
  })
  .describe('the linter whose findings on changed lines count');

export type StyleRule = z.infer<typeof styleSchema>;

/** How a task is played in the arena. */
export const arenaRulesSchema = z
  .strictObject({
    actions: z
      .array(z.enum(ACTION_NAMES))
      .min(1)
      .optional()
      .describe('what an agent may do; everything when it is left out. An agent may always submit'),
    tools: z
      .array(ownToolSchema)
      .max(32)
      .refine((tools) => new Set(tools.map(({ name }) => name)).size === tools.length, 'expected a different name for each tool')
      .default([])
      .describe('programs of the image that an agent may call beside the actions'),
    abandoned: z
      .enum(['ungraded', 'graded'])
      .default('ungraded')
      .describe(
        'graded: an episode that is given up, or of which nothing is asked for too long, is graded with the files that it has then',
      ),
    style: styleSchema.optional(),
    time: z
      .enum(['ignored', 'measured'])
      .default('ignored')
      .describe('measured: processor time and steps are held against those of the task’s own solution, which the server grades once'),
    reward: weightsSchema.prefault({}),
  })
  .describe('how agents play the task in the arena');

export type ArenaRules = z.infer<typeof arenaRulesSchema>;

import { z } from 'zod';
import { MAX_RANGE_EPISODES, MAX_WIDTH, type Batching } from '../runner/frames.ts';

/** How a runner plays the episodes of a suite: one after the other, or in blocks of consecutive indices whose forward passes are batched. */

/** A row plays four episodes on average, so that at the end of a block few rows are empty for long. */
const EPISODES_PER_ROW = 4;

const width = z.int().min(1).max(MAX_WIDTH);

const lockstepSchema = z
  .strictObject({
    mode: z.literal('lockstep'),
    width: width.describe('environments that are stepped together in one process, with one forward pass for all of them'),
    block: z
      .int()
      .min(1)
      .max(MAX_RANGE_EPISODES)
      .optional()
      .describe('episodes that are played together: a row whose episode ends takes the next of them; 4 for each row when left out'),
  })
  .refine((play) => play.block === undefined || play.block >= play.width, {
    path: ['block'],
    error: 'expected at least as many episodes as the width has rows',
  })
  .transform((play) => ({ ...play, block: play.block ?? Math.min(EPISODES_PER_ROW * play.width, MAX_RANGE_EPISODES) }));

const vectorSchema = z.strictObject({
  mode: z.literal('vector'),
  width: width.describe("rows of the environment's own vector form, each of which plays one episode"),
  block: z.never('expected nothing: with "vector" a block has one episode for each row').optional(),
});

const declarationSchema = z.discriminatedUnion('mode', [z.strictObject({ mode: z.literal('single') }), lockstepSchema, vectorSchema]);

export const playSchema = z
  .union([z.literal('single').transform(() => ({ mode: 'single' as const })), declarationSchema], {
    error: 'expected single, or a mode with its width such as { mode: lockstep, width: 32 }',
  })
  .describe(
    "how episodes are played: one after the other, in lockstep with one forward pass for all rows, or with the environment's own vector form",
  );

export type PlayDeclaration = z.infer<typeof declarationSchema>;

/** Consecutive indices that one runner plays together, counted from index 0 on. */
export function blockSize(play: PlayDeclaration): number {
  switch (play.mode) {
    case 'single':
      return 1;
    case 'lockstep':
      return play.block;
    case 'vector':
      return play.width;
  }
}

/** For a runner's `load`. Undefined: one after the other. @param episodeSeconds time limit of an episode. */
export function batchingOf(play: PlayDeclaration, episodeSeconds: number): Batching | undefined {
  if (play.mode === 'single') return undefined;
  return { form: play.mode, width: play.width, episodes: blockSize(play), episodeSeconds };
}

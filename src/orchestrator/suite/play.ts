import { z } from 'zod';
import { MAX_RANGE_EPISODES, MAX_WIDTH, type Batching } from '../../runner/frames.ts';

/** How a runner plays the episodes of a suite: one after the other, or in blocks of consecutive indices whose forward passes are batched. */

/** A row plays four episodes on average, so that few rows are empty for long at the end of a block. */
const EPISODES_PER_ROW = 4;

const width = z.int().min(1).max(MAX_WIDTH);
const lockstepWidth = width.describe('environments that are stepped together in one process, with one forward pass for all of them');
const vectorWidth = width.describe("rows of the environment's own vector form, each of which plays one episode");
const block = z.int().min(1).max(MAX_RANGE_EPISODES);

const single = z.strictObject({ mode: z.literal('single') });
const lockstep = z.strictObject({ mode: z.literal('lockstep'), width: lockstepWidth, block: block.describe('episodes played together') });
const vector = z.strictObject({ mode: z.literal('vector'), width: vectorWidth });

/** Complete, with nothing left out. */
export const playDeclarationSchema = z.discriminatedUnion('mode', [single, lockstep, vector]);

export type PlayDeclaration = z.infer<typeof playDeclarationSchema>;

const writtenLockstep = lockstep
  .extend({
    block: block
      .optional()
      .describe('episodes that are played together: a row whose episode ends takes the next of them; 4 for each row when left out'),
  })
  .refine((play) => play.block === undefined || play.block >= play.width, {
    path: ['block'],
    error: 'expected at least as many episodes as the width has rows',
  })
  .transform((play) => ({ ...play, block: play.block ?? getDefaultBlockSize(play.width) }));

const writtenVector = vector
  .extend({
    block: z.never('expected nothing: with "vector" a block has one episode for each row').optional().describe('not allowed with vector'),
  })
  .transform(({ mode, width: rows }) => ({ mode, width: rows }));

/** The setting as people write it. */
export const playSchema = z
  .union(
    [
      z.literal('single').transform((mode): PlayDeclaration => ({ mode })),
      z.discriminatedUnion('mode', [single, writtenLockstep, writtenVector]),
    ],
    { error: 'expected single, or a mode with its width such as { mode: lockstep, width: 32 }' },
  )
  .describe(
    "how episodes are played: one after the other, in lockstep with one forward pass for all rows, or with the environment's own vector form",
  );

/** Returns the number of episodes of a lockstep block that does not set it. */
export function getDefaultBlockSize(rows: number): number {
  return Math.min(EPISODES_PER_ROW * rows, MAX_RANGE_EPISODES);
}

/** Returns how many consecutive indices one runner plays together, counted from index 0 on. */
export function getBlockSize(play: PlayDeclaration): number {
  switch (play.mode) {
    case 'single':
      return 1;
    case 'lockstep':
      return play.block;
    case 'vector':
      return play.width;
  }
}

/** Returns the batching for a runner's `load`, and undefined for one episode after the other. @param episodeSeconds time limit of an episode. */
export function getBatching(play: PlayDeclaration, episodeSeconds: number): Batching | undefined {
  if (play.mode === 'single') return undefined;
  return { form: play.mode, width: play.width, episodes: getBlockSize(play), episodeSeconds };
}

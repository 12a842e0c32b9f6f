import { z } from 'zod';
import { END_CAUSES, OUTCOMES, type EpisodeState } from './episode-state.ts';

const cause = z.enum(END_CAUSES);
const amount = z.number().min(0);

/** A state that was written outside of this process. */
export const episodeStateSchema: z.ZodType<EpisodeState> = z.strictObject({
  phase: z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('created') }),
    z.strictObject({ kind: z.literal('ready') }),
    z.strictObject({ kind: z.literal('stepping'), number: z.int().min(1), digest: z.string() }),
    z.strictObject({ kind: z.literal('submitted'), cause }),
    z.strictObject({ kind: z.literal('grading'), cause }),
    z.strictObject({ kind: z.literal('closed'), cause, outcome: z.enum(OUTCOMES) }),
  ]),
  answered: z.array(z.string()),
  spent: z.strictObject({ seconds: amount, bytesWritten: amount, output: amount }),
  touchedAt: z.number(),
});

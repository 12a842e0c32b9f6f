import { z } from 'zod';
import { playDeclarationSchema } from '../suite/play.ts';
import { digestSchema } from '../results/summary.ts';

const wayFields = { play: playDeclarationSchema, sandboxes: z.int().describe('at a time') };

const trialSchema = z.strictObject({
  ...wayFields,
  episodesPerSecond: z.number().nullable().describe('of all sandboxes together, in a steady state; null when it could not be measured'),
  isEstimate: z
    .boolean()
    .describe('true where too few blocks came to an end in the time that there was: what the runners measured of an episode tells then'),
  timesSingle: z.number().nullable().describe('as many times as fast as one episode after the other on as many sandboxes as processors'),
  episodes: z.int().describe('played'),
  failed: z.int().describe('episodes that failed'),
  forwardShare: z
    .number()
    .nullable()
    .describe("of the episodes' time, spent in the policy's forward passes; null when it was not measured"),
  refusal: z.string().nullable().describe('why it cannot be played in this way; null when it can'),
});

/** What `muster tune --json` prints. */
export const tuningSchema = z
  .strictObject({
    schema: z.literal('muster.tuning/1'),
    suite: z.strictObject({ name: z.string() }),
    checkpoint: z.strictObject({ uri: z.string(), digest: digestSchema }),
    processors: z.int().describe('of this machine'),
    sandboxesMax: z.int().describe('that the pool may have'),
    seconds: z.number().describe('wall clock of all trials'),
    trials: z.array(trialSchema).describe('in the order in which they were made'),
    fastest: z
      .strictObject({ ...wayFields, episodesPerSecond: z.number() })
      .nullable()
      .describe('null when nothing could be measured'),
    warnings: z.array(z.string()),
  })
  .describe('Ways of playing a suite, and how fast each of them is on this machine');

export type Tuning = z.infer<typeof tuningSchema>;
export type TuningTrialResult = z.infer<typeof trialSchema>;

import { z } from 'zod';
import { playDeclarationSchema } from '../suite/play.ts';
import { digestSchema } from '../results/summary.ts';

const wayFields = { play: playDeclarationSchema, sandboxes: z.int().describe('sandboxes that play at the same time') };

const trialSchema = z.strictObject({
  ...wayFields,
  episodesPerSecond: z
    .number()
    .nullable()
    .describe('speed of all sandboxes together, in a steady state; null when it could not be measured'),
  isEstimate: z
    .boolean()
    .describe(
      'true where too few blocks ended within the time: the speed then follows from the time of an episode that the runners measured',
    ),
  timesSingle: z
    .number()
    .nullable()
    .describe('speed as a multiple of playing one episode after the other on one sandbox for each processor'),
  episodes: z.int().describe('episodes that were played'),
  failed: z.int().describe('episodes that failed'),
  forwardShare: z
    .number()
    .nullable()
    .describe("share of the episodes' time that the policy's forward passes took; null when it was not measured"),
  refusal: z.string().nullable().describe('why the suite cannot be played in this way; null when it can'),
});

/** What `muster tune --json` prints. */
export const tuningSchema = z
  .strictObject({
    schema: z.literal('muster.tuning/1'),
    suite: z.strictObject({ name: z.string() }),
    checkpoint: z.strictObject({ uri: z.string(), digest: digestSchema }),
    processors: z.int().describe('processors of this machine'),
    sandboxesMax: z.int().describe('the most sandboxes that the pool may have'),
    seconds: z.number().describe('wall-clock time of all trials'),
    trials: z.array(trialSchema).describe('in the order in which they ran'),
    fastest: z
      .strictObject({ ...wayFields, episodesPerSecond: z.number() })
      .nullable()
      .describe('null when nothing could be measured'),
    warnings: z.array(z.string()),
  })
  .describe('Ways of playing a suite, and how fast each of them is on this machine');

export type Tuning = z.infer<typeof tuningSchema>;
export type TuningTrialResult = z.infer<typeof trialSchema>;

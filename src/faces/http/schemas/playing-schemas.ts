import { z } from 'zod';
import { runningReturnsSchema } from '../../../aggregation/results/running-returns.ts';
import { sandboxTimelineSchema } from '../../../orchestrator/facts/sandbox-timeline.ts';

export const playingSchema = z
  .strictObject({
    returns: runningReturnsSchema.nullable().describe('null of a comparison, and once it is over'),
    sandboxes: sandboxTimelineSchema.nullable(),
  })
  .describe('how an evaluation is played; null where this server does not play it, and has not played it lately');

export type Playing = z.infer<typeof playingSchema>;

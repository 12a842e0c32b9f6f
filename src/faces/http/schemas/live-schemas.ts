import type { Readable } from 'node:stream';
import { z } from 'zod';
import { runningFiguresSchema } from '../../../service/orders/running-figures.ts';
import { evaluationItemSchema } from './evaluation-schemas.ts';
import { poolSchema } from './pool-schemas.ts';

/** The data of one event of the live stream. Omitted parts have not changed. */
export const liveMessageSchema = z.object({
  evaluations: z.array(evaluationItemSchema).readonly().exactOptional().describe('new ones, and ones that began or ended'),
  running: z
    .array(z.object({ id: z.string(), running: runningFiguresSchema }))
    .readonly()
    .exactOptional()
    .describe('of open evaluations of which nothing else has changed'),
  pools: z.array(poolSchema).readonly().exactOptional().describe('all of them'),
  isIncomplete: z.literal(true).exactOptional().describe('changes were left out: read the list again'),
});
export type LiveMessage = z.infer<typeof liveMessageSchema>;

/** The schema does not check the stream while it is sent. */
export const liveStreamSchema = z.custom<Readable>().meta({
  type: 'object',
  description: 'one event of the stream',
  properties: {
    event: { const: 'changes' },
    data: {
      type: 'string',
      contentMediaType: 'application/json',
      description: '{ evaluations?, running?, pools?, isIncomplete? }: what is left out has not changed; isIncomplete: read the list again',
    },
  },
});

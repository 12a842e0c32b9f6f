import { z } from 'zod';

const count = z.int().min(0);

export const poolSchema = z
  .strictObject({
    name: z.string().describe('of the template that its sandboxes are made from'),
    provider: z.string().describe('makes its sandboxes'),
    min: count.describe('sandboxes kept even when no evaluation needs them'),
    max: count.describe('sandboxes at most'),
    warm: count.describe('idle sandboxes kept ready beyond those in use'),
    draining: z.boolean().describe('nothing is played on it; evaluations wait'),
    phase: z.enum(['unused', 'starting', 'open', 'draining', 'closing']),
    sandboxes: z.strictObject({ creating: count, warming: count, idle: count, leased: count, destroying: count }),
    lost: z
      .array(z.strictObject({ sandbox: z.string(), at: z.iso.datetime(), detail: z.string() }))
      .describe('sandboxes that were ready and died within the last minute, the latest fifty at most, with what the provider said'),
    waiting: count.describe('places that wait for a sandbox'),
    totals: z
      .strictObject({ created: count, destroyed: count, failed: count, died: count, abandoned: count, leases: count, revoked: count })
      .describe('since this process began'),
    obstacles: z
      .array(z.strictObject({ kind: z.string(), sandboxes: count, detail: z.string() }))
      .describe('why sandboxes in creation are not ready yet: no room on a node, an image that cannot be pulled'),
    usage: z
      .strictObject({
        sandboxes: count.describe('how many of them were measured'),
        processors: z
          .number()
          .min(0)
          .nullable()
          .describe('processor seconds per second, over the last few seconds; null before the second measurement'),
        memoryBytes: count.describe('sum of their peaks'),
        largestMemoryBytes: count.describe('largest peak of one sandbox'),
      })
      .nullable()
      .describe('as of a few seconds ago; null if the provider does not measure it, and before the first measurement'),
    lastErrors: z.strictObject({ creation: z.string().nullable(), destruction: z.string().nullable(), sweep: z.string().nullable() }),
  })
  .describe('a pool of this process');

export const poolChangeSchema = z
  .strictObject({
    min: z.int().min(0).max(100_000).exactOptional(),
    max: z.int().min(1).max(100_000).exactOptional(),
    warm: z.int().min(0).max(100_000).exactOptional(),
    draining: z.boolean().exactOptional().describe('true: finish the running evaluations, then play nothing; false: continue'),
  })
  .refine((change) => Object.keys(change).length > 0, 'expected one of min, max, warm, draining')
  .describe('a missing field keeps its value');

export const poolListSchema = z.strictObject({ items: z.array(poolSchema) });

export type Pool = z.infer<typeof poolSchema>;
export type PoolChange = z.infer<typeof poolChangeSchema>;

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
      .describe('what keeps sandboxes that are being created from getting ready, now: no room on a node, an image that cannot be pulled'),
    usage: z
      .strictObject({
        sandboxes: count.describe('how many of them were measured'),
        processors: z.number().min(0).nullable().describe('processor seconds a second, lately; null before the second look'),
        memoryBytes: count.describe('most that each of them had had, summed'),
        largestMemoryBytes: count.describe('most that one of them had had'),
      })
      .nullable()
      .describe('as of a few seconds ago; null where the provider does not measure it, and before the first look'),
    lastErrors: z.strictObject({ creation: z.string().nullable(), destruction: z.string().nullable(), sweep: z.string().nullable() }),
  })
  .describe('a pool of this process');

export const poolChangeSchema = z
  .strictObject({
    min: z.int().min(0).max(100_000).exactOptional(),
    max: z.int().min(1).max(100_000).exactOptional(),
    warm: z.int().min(0).max(100_000).exactOptional(),
    draining: z.boolean().exactOptional().describe('true: finish what is under way, then play nothing; false: go on'),
  })
  .refine((change) => Object.keys(change).length > 0, 'expected one of min, max, warm, draining')
  .describe('what is left out stays as it is');

export const poolListSchema = z.strictObject({ items: z.array(poolSchema) });

export type Pool = z.infer<typeof poolSchema>;
export type PoolChange = z.infer<typeof poolChangeSchema>;

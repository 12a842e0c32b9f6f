import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { PoolDesk, PoolReport } from '../service/pool-desk.ts';
import { PROBLEMS } from './problem-responses.ts';

const count = z.int().min(0);

const poolSchema = z
  .strictObject({
    name: z.string().describe('of the template that its sandboxes are made from'),
    min: count.describe('sandboxes kept even when nobody needs them'),
    max: count.describe('sandboxes at most'),
    warm: count.describe('idle sandboxes kept ready beyond those in use'),
    draining: z.boolean().describe('nothing is played on it; evaluations wait'),
    phase: z.enum(['unused', 'starting', 'open', 'draining', 'closing']),
    sandboxes: z.strictObject({ creating: count, warming: count, idle: count, leased: count, destroying: count }),
    waiting: count.describe('places that wait for a sandbox'),
    totals: z
      .strictObject({ created: count, destroyed: count, failed: count, died: count, abandoned: count, leases: count, revoked: count })
      .describe('since this process began'),
    lastErrors: z.strictObject({ creation: z.string().nullable(), destruction: z.string().nullable(), sweep: z.string().nullable() }),
  })
  .describe('a pool of this process');

const changeSchema = z
  .strictObject({
    min: z.int().min(0).max(100_000).exactOptional(),
    max: z.int().min(1).max(100_000).exactOptional(),
    warm: z.int().min(0).max(100_000).exactOptional(),
    draining: z.boolean().exactOptional().describe('true: finish what is under way, then play nothing; false: go on'),
  })
  .refine((change) => Object.keys(change).length > 0, 'expected one of min, max, warm, draining')
  .describe('what is left out stays as it is');

type Pool = z.infer<typeof poolSchema>;

/** Looking at pools, and scaling them. */
export function poolRoutes(instance: FastifyInstance, desk: PoolDesk): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();
  app.get(
    '/v1/pools',
    {
      schema: {
        summary: 'The pools of sandboxes',
        tags: ['pools'],
        response: { 200: z.strictObject({ items: z.array(poolSchema) }), ...PROBLEMS },
      },
    },
    () => ({ items: desk.list().map(poolResource) }),
  );
  app.patch(
    '/v1/pools/:name',
    {
      schema: {
        summary: 'Scale a pool, or drain it; until this process ends',
        tags: ['pools'],
        params: z.strictObject({ name: z.string().max(64) }),
        body: changeSchema,
        response: { 200: poolSchema, ...PROBLEMS },
      },
    },
    async ({ params, body, caller }) => poolResource(await desk.change(params.name, body, caller.principal)),
  );
}

const NO_SANDBOXES = { creating: 0, warming: 0, idle: 0, leased: 0, destroying: 0 };
const NO_TOTALS = { created: 0, destroyed: 0, failed: 0, died: 0, abandoned: 0, leases: 0, revoked: 0 };

function poolResource({ name, min, max, warm, draining, state }: PoolReport): Pool {
  return {
    name,
    min,
    max,
    warm,
    draining,
    phase: state?.phase ?? 'unused',
    sandboxes: { ...(state?.sandboxes ?? NO_SANDBOXES) },
    waiting: state?.waiting ?? 0,
    totals: { ...(state?.totals ?? NO_TOTALS) },
    lastErrors: {
      creation: state?.lastErrors.creation ?? null,
      destruction: state?.lastErrors.destruction ?? null,
      sweep: state?.lastErrors.sweep ?? null,
    },
  };
}

import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { Caller } from '../../../service/access/caller.ts';
import type { PoolService, PoolReport } from '../../../service/upkeep/pool-service.ts';
import { requireCaller } from '../requests/caller.ts';
import { poolChangeSchema, type Pool, poolListSchema, poolSchema } from '../schemas/pool-schemas.ts';
import { PROBLEMS } from '../problems/problem-responses.ts';

export function addPoolRoutes(instance: FastifyInstance, pools: PoolService): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();
  app.get(
    '/v1/pools',
    {
      schema: {
        summary: 'The pools of sandboxes',
        tags: ['pools'],
        response: { 200: poolListSchema, ...PROBLEMS },
      },
    },
    ({ caller }) => ({ items: toPoolResources(pools, requireCaller(caller)) }),
  );
  app.patch(
    '/v1/pools/:name',
    {
      schema: {
        summary: 'Scale a pool, or drain it; until this process ends',
        tags: ['pools'],
        params: z.strictObject({ name: z.string().max(64) }),
        body: poolChangeSchema,
        response: { 200: poolSchema, ...PROBLEMS },
      },
    },
    async ({ params, body, caller }) => toPoolResource(await pools.change(params.name, body, requireCaller(caller).principal)),
  );
}

/** Returns the pools as a caller sees them. */
export function toPoolResources(pools: Pick<PoolService, 'list'>, caller: Caller): Pool[] {
  return pools.list().map((report) => withholdErrors(caller, toPoolResource(report)));
}

/** A sandbox's last output can be part of an error, and is for operators. */
function withholdErrors({ role }: Caller, pool: Pool): Pool {
  if (role === 'operator') return pool;
  const { creation, destruction, sweep } = pool.lastErrors;
  const lost = pool.lost.map((each) => ({ ...each, detail: WITHHELD }));
  return { ...pool, lost, lastErrors: { creation: creation && WITHHELD, destruction: destruction && WITHHELD, sweep: sweep && WITHHELD } };
}

const WITHHELD = 'withheld: operators can read it';
/** Characters of a lost sandbox's description: with fifty of them the live stream stays small. */
const MOST_SAID = 500;
const NO_SANDBOXES = { creating: 0, warming: 0, idle: 0, leased: 0, destroying: 0 };
const NO_TOTALS = { created: 0, destroyed: 0, failed: 0, died: 0, abandoned: 0, leases: 0, revoked: 0 };

function toPoolResource({ name, provider, min, max, warm, draining, waiting, state, usage }: PoolReport): Pool {
  return {
    name,
    provider,
    min,
    max,
    warm,
    draining,
    phase: state?.phase ?? 'unused',
    sandboxes: { ...(state?.sandboxes ?? NO_SANDBOXES) },
    lost: (state?.lost ?? []).map(({ id, at, detail }) => ({ sandbox: id, at: at.toISOString(), detail: detail.slice(0, MOST_SAID) })),
    waiting,
    totals: { ...(state?.totals ?? NO_TOTALS) },
    obstacles: (state?.obstacles ?? []).map(({ kind, sandboxes, detail }) => ({ kind, sandboxes, detail })),
    usage: usage ? { ...usage, processors: usage.processors === undefined ? null : Math.round(100 * usage.processors) / 100 } : null,
    lastErrors: {
      creation: state?.lastErrors.creation ?? null,
      destruction: state?.lastErrors.destruction ?? null,
      sweep: state?.lastErrors.sweep ?? null,
    },
  };
}
